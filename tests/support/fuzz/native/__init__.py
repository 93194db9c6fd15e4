"""The kernel under libFuzzer: its C as it is, led by coverage, with the sanitizers watching.

``python -m tests.support.fuzz.native`` (``make fuzz``) builds ``kernel.c`` with clang, together
with the kernel and the libxml2 that is in lxml, and runs it for some time. ``seeds.txt`` has the
inputs that earlier runs kept because each reaches something new; ``--keep`` renews it.
"""
