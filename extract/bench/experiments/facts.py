"""Where and with what figures were taken: they hold for nothing else."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from lxml import etree

from extract import __version__
from extract.chunktool.scan.driver import kernel_available


def facts(command: str, scale: float, rivals: Mapping[str, str]) -> dict[str, str]:
    """Machine, versions, date and command.

    Args:
        command: What was typed.
        scale: Which part of the work was done.
        rivals: Versions of the other tools, or why they are not here.
    """
    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    kernel = "built" if kernel_available() else "not built: the scanner in Python runs"
    entries = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_memory()}",
        "system": f"{platform.system()} {platform.release()}",
        "extract": f"{__version__}, kernel in C {kernel}",
        "Python": platform.python_version(),
        **rivals,
        "lxml": f"{version('lxml')} with libxml2 {libxml2}",
    }
    if scale != 1.0:
        entries["scale"] = f"{scale:g} of the work: a first impression, not the full figures"
    return entries


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "memory unknown"
    return f"{size / 2**30:.0f} GB"
