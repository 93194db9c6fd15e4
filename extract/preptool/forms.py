"""The templates of a scheme while they are made: their normal forms, and the branches of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extract.preptool.query_tree import NamePath
from extract.scheme.model import Branch, Scheme
from extract.scheme.spine import all_names
from extract.scheme.templates import Form, RegisteredTemplates
from extract.subscriptions.columns import Offsets
from extract.subscriptions.member_table import FormColumns
from extract.transtool.normalise import NormalBranch, NormalForm
from extract.xpath.parameters import divided, renumbered


class FormTable:
    """Templates, forms and branches, each numbered in the order of arrival.

    A form is needed as long as it has members, a branch as long as a form needs it. What is not
    needed any more keeps its number, for it may be needed again.

    Attributes:
        branches: Every branch once.
        tails: For each branch the part after its spine; None until it is needed.
        spines: For each branch the names of its spine; equal ones are one object.
        users: For each branch the number of forms that need it.
        size: Characters of the branches that are needed, or were added for templates without
            members so far.
        forms: The normal forms.
        members: For each form the number of its members.
        xpaths: For each template its canonical text.
        shapes: For each template its form and arguments.
        reasons: Why the queries of a template match nothing, by its number.
        touched: Branches that have begun or ceased to be needed since this was last cleared; None
            if nobody asks.
    """

    def __init__(self) -> None:
        self.branches: list[Branch] = []
        self.tails: list[str | None] = []
        self.spines: list[NamePath] = []
        self.users: list[int] = []
        self.size = 0
        self.forms: list[Form] = []
        self.members: list[int] = []
        self.xpaths: list[str] = []
        self.shapes = FormColumns()
        self.reasons: dict[int, str] = {}
        self.touched: set[int] | None = None
        self._dropped: set[int] = set()  # branches that were needed before
        self._rows: dict[tuple[str, int, tuple[int, ...]], int] = {}
        self._form_numbers: dict[Form, int] = {}
        self._branch_numbers: dict[str, int] = {}
        self._paths: dict[NamePath, NamePath] = {}

    @classmethod
    def of(cls, scheme: Scheme) -> FormTable:
        """The table of a scheme, without members."""
        table, xpaths = cls(), scheme.branches.xpaths
        table.branches = list(scheme.branches)
        table.tails = [None] * len(xpaths)
        table.spines = all_names(scheme.branches)
        table.users = [0] * len(xpaths)
        table.size = sum(map(len, xpaths))
        table.forms = list(scheme.forms)
        table.members = [0] * len(scheme.forms)
        table.xpaths = list(scheme.templates.xpaths)
        table.reasons = dict(scheme.templates.reasons)
        for number, (xpath, form, arguments, _) in enumerate(scheme.templates):
            table.shapes.append(form, arguments)
            if "$" in xpath:
                table._rows[xpath, form, arguments] = number
        table._form_numbers = {form: number for number, form in enumerate(scheme.forms)}
        table._branch_numbers = dict(zip(xpaths, range(len(xpaths)), strict=True))
        table._paths.update((spine, spine) for spine in table.spines)
        return table

    def add(self, xpath: str, form: NormalForm) -> int:
        """Adds a template; returns its number.

        One that is there with the same form and arguments is not added again.
        """
        arguments, branches = _in_own_numbers(form.branches)
        number = -1
        if branches:
            own = Form(tuple([self._branch(branch) for branch in branches]), form.type)
            number = self._form_numbers.setdefault(own, len(self.forms))
            if number == len(self.forms):
                self.forms.append(own)
                self.members.append(0)
        if "$" in xpath:
            row = self._rows.setdefault((xpath, number, arguments), len(self.xpaths))
            if row < len(self.xpaths):
                return row
        self.xpaths.append(xpath)
        self.shapes.append(number, arguments)
        if not branches:
            self.reasons[len(self.xpaths) - 1] = form.unsatisfiable
        return len(self.xpaths) - 1

    def _branch(self, branch: NormalBranch) -> int:
        number = self._branch_numbers.get(branch.xpath)
        if number is None:
            number = self._branch_numbers[branch.xpath] = len(self.branches)
            self.branches.append(Branch(branch.xpath, len(branch.prefix)))
            self.tails.append(branch.residual if branch.prefix else branch.xpath)
            self.spines.append(self._paths.setdefault(branch.prefix, branch.prefix))
            self.users.append(0)
            self.size += len(branch.xpath)
        return number

    # -- members

    def add_members(self, forms: NDArray[np.int32]) -> None:
        """Counts new members.

        Args:
            forms: The form of each; -1 for those that match nothing.
        """
        times = np.bincount(forms[forms >= 0])
        numbers = np.flatnonzero(times)
        for form, more in zip(numbers.tolist(), times[numbers].tolist(), strict=True):
            self.add_member(form, more)

    def add_member(self, form: int, times: int = 1) -> None:
        """Counts new members of a form, which matches something."""
        self.members[form] += times
        if self.members[form] > times:
            return
        for branch in self.forms[form].branches:
            self.users[branch] += 1
            if self.users[branch] > 1:
                continue
            if branch in self._dropped:
                self._dropped.remove(branch)
                self.size += len(self.branches[branch].xpath)
            if self.touched is not None:
                self.touched.add(branch)

    def remove_member(self, form: int) -> None:
        """Counts a removed member of a form."""
        self.members[form] -= 1
        if self.members[form]:
            return
        branches = self.forms[form].branches
        for branch in branches:
            self.users[branch] -= 1
        gone = [branch for branch in branches if not self.users[branch]]
        self._dropped.update(gone)
        self.size -= sum([len(self.branches[branch].xpath) for branch in gone])
        if self.touched is not None:
            self.touched.update(gone)

    # -- tables of a scheme

    def rows(self, forms: Offsets, branch_rows: Offsets | None) -> tuple[Form, ...]:
        """Returns some forms as a scheme has them.

        Args:
            forms: Their numbers.
            branch_rows: The row of each branch; None if that is its number.
        """
        some = [self.forms[number] for number in forms.tolist()]
        if branch_rows is None:
            return tuple(some)
        row = branch_rows.tolist()
        return tuple([Form(tuple([row[n] for n in form.branches]), form.type) for form in some])

    def templates(self, templates: Offsets, form_rows: Offsets) -> RegisteredTemplates:
        """Returns some templates as a scheme has them.

        Args:
            templates: Their numbers.
            form_rows: The row of each form.
        """
        numbers = templates.tolist()
        at, forms = np.array(self.shapes.at, np.int64), np.array(self.shapes.forms, np.int64)
        arguments = np.array(self.shapes.arguments, np.int32)
        sizes = at[templates + 1] - at[templates]
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(at[templates] - starts, sizes) + np.arange(int(sizes.sum()))
        rows = np.append(form_rows, -1)[forms[templates]]  # the last one for those without
        reasons = [(row, self.reasons.get(number)) for row, number in enumerate(numbers)]
        return RegisteredTemplates(
            tuple([self.xpaths[number] for number in numbers]),
            rows.astype(np.int32),
            np.append(starts, sizes.sum()).astype(np.int32),
            arguments[places],
            {row: reason for row, reason in reasons if reason is not None},
        )


def _in_own_numbers(
    branches: Sequence[NormalBranch],
) -> tuple[tuple[int, ...], Sequence[NormalBranch]]:
    """Numbers parameters in the order in which branches mention them.

    Returns:
        For each new number the old one; and the branches.
    """
    arguments: dict[int, int] = {}
    for branch in branches:
        if "$" in branch.xpath:
            for place in divided(branch.xpath)[1]:
                arguments.setdefault(place.number, len(arguments))
    if all(number == place for place, number in enumerate(arguments)):
        return tuple(arguments), branches
    numbers = [arguments.get(number) for number in range(max(arguments) + 1)]
    return tuple(arguments), [
        branch._replace(
            xpath=renumbered(branch.xpath, numbers), residual=renumbered(branch.residual, numbers)
        )
        for branch in branches
    ]
