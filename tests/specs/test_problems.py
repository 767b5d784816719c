"""Faults in scenarios, and exactly what is said of each."""

# Messages stand on one line, as they are printed.
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from tests.specs.base import BASE, changed, problems_of

CASES: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    "unknown key": (
        [("pacing: {in", "paceing: {in")],
        ["s.yaml:18:7: steps.2.load.paceing: unknown key `paceing`; did you mean `pacing`?"],
    ),
    "unknown key of a group": (
        [("memory: 64Mi}", "memory: 64Mi, cpus: 1}")],
        ["s.yaml:11:52: groups.idle.cpus: unknown key `cpus`; did you mean `cpu`?"],
    ),
    "unknown key at the top": (
        [("checks:", "check:")],
        ["s.yaml:20:1: check: unknown key `check`; did you mean `checks`?"],
    ),
    "missing key": (
        [("title: What does it cost?\n", "")],
        ["s.yaml:1:1: the key `title` is missing"],
    ),
    "missing key of a load": (
        [("      group: idle\n", "")],
        ["s.yaml:16:7: steps.2.load: the key `group` is missing"],
    ),
    "missing memory": (
        [(", memory: 64Mi", "")],
        ["s.yaml:11:9: groups.idle: the key `memory` is missing"],
    ),
    "duplicate key": (
        [("title: What does it cost?\n", "title: What?\nname: again\n")],
        ["s.yaml:3:1: name: duplicate key `name`, also at line 1; remove one"],
    ),
    "word for a truth": (
        [("title: What does it cost?", "title: No")],
        ["s.yaml:2:8: title: `No` is true, false or text to different readers; quote it or write true/false"],
    ),
    "exponent": (
        [("count: 4", "count: 1e3")],
        ["s.yaml:11:17: groups.idle.count: `1e3` is a number to some readers only; write 1000 or quote it"],
    ),
    "leading zero": (
        [("count: 4", "count: 010")],
        [
            "s.yaml:11:17: groups.idle.count: `010` is a number to some readers only; write plain decimal digits or quote it"
        ],
    ),
    "grouped digits": (
        [("count: 4", "count: 1_000")],
        ["s.yaml:11:17: groups.idle.count: `1_000` is a number to some readers only; write 1000 or quote it"],
    ),
    "sexagesimal": (
        [("hold: 3s", "hold: 1:30")],
        [
            "s.yaml:5:9: parameters.hold: `1:30` is a number to some readers only; write plain decimal digits or quote it"
        ],
    ),
    "bare fraction": (
        [("pacing: {in_flight: 2}", "pacing: {rate: .5}")],
        ["s.yaml:18:22: steps.2.load.pacing.rate: `.5` is a number to some readers only; write 0.5 or quote it"],
    ),
    "infinity": (
        [("pacing: {in_flight: 2}", "pacing: {rate: .inf}")],
        [
            "s.yaml:18:22: steps.2.load.pacing.rate: `.inf` is a number to some readers only; write plain decimal digits or quote it"
        ],
    ),
    "text for a number": (
        [("count: 4", "count: many")],
        ["s.yaml:11:17: groups.idle.count: expected a whole number, found the text 'many'"],
    ),
    "fraction of a sandbox": (
        [("count: 4", "count: 4.5")],
        ["s.yaml:11:17: groups.idle.count: expected a whole number, found the number 4.5"],
    ),
    "no sandbox": (
        [("count: 4", "count: 0")],
        ["s.yaml:11:17: groups.idle.count: must be at least 1, found 0"],
    ),
    "nothing": (
        [("count: 4", "count: ")],
        ["s.yaml:11:16: groups.idle.count: expected a whole number, found nothing (null)"],
    ),
    "truth for a number": (
        [("count: 4", "count: true")],
        ["s.yaml:11:17: groups.idle.count: expected a whole number, found true"],
    ),
    "memory without unit": (
        [("64Mi", "64")],
        ["s.yaml:11:46: groups.idle.memory: '64' is not a memory quantity; write it with a unit, such as 64Mi or 2Gi"],
    ),
    "cpu with a unit of memory": (
        [("[50m, 1]", "[50m, 1Gi]")],
        ["s.yaml:11:25: groups.idle.cpu: '1Gi' is not a CPU quantity; write 50m, 0.5 or 2 (with cpu = 1Gi)"],
    ),
    "duration without unit": (
        [("hold: 3s", "hold: 3")],
        ["s.yaml:19:13: steps.2.load.hold: '3' is not a duration; write it with a unit, such as 500ms, 30s or 5m"],
    ),
    "negative duration": (
        [('hold: "{{ hold }}"', "hold: -3s"), ("  hold: 3s\n", ""), ("hold: 1s", "")],
        ["s.yaml:18:13: steps.2.load.hold: '-3s' is not a duration; write it with a unit, such as 500ms, 30s or 5m"],
    ),
    "timeout of nothing": (
        [('hold: "{{ hold }}"', 'hold: "{{ hold }}"\n      timeout: 0s')],
        ["s.yaml:20:16: steps.2.load.timeout: must be more than 0, found 0s"],
    ),
    "misspelt pacing": (
        [("pacing: {in_flight: 2}", "pacing: bursty")],
        [
            "s.yaml:18:15: steps.2.load.pacing: expected burst, {in_flight: N} or {rate: N}, found the text 'bursty'; did you mean `burst`?"
        ],
    ),
    "two pacings": (
        [("pacing: {in_flight: 2}", "pacing: {in_flight: 2, rate: 5}")],
        [
            "s.yaml:18:15: steps.2.load.pacing: expected burst, {in_flight: N} or {rate: N}, found a mapping of in_flight, rate"
        ],
    ),
    "extra key of a pacing": (
        [("pacing: {in_flight: 2}", "pacing: {rate: 5, arrival: poisson}")],
        ["s.yaml:18:25: steps.2.load.pacing.arrival: unknown key `arrival`; did you mean `arrivals`?"],
    ),
    "misspelt arrivals": (
        [("pacing: {in_flight: 2}", "pacing: {rate: 5, arrivals: poison}")],
        [
            "s.yaml:18:35: steps.2.load.pacing.arrivals: expected constant or poisson, found the text 'poison'; did you mean `poisson`?"
        ],
    ),
    "rate as text": (
        [("pacing: {in_flight: 2}", 'pacing: {rate: "5"}')],
        ["s.yaml:18:22: steps.2.load.pacing.rate: expected a number, found the text '5'"],
    ),
    "misspelt operation": (
        [("[create, resume,", "[create, resum,")],
        [
            "s.yaml:17:20: steps.2.load.do.1: expected create, resume, suspend, wake or delete, found the text 'resum'; did you mean `resume`?"
        ],
    ),
    "exec without a program": (
        [("{exec: [ls]}", "exec")],
        [
            "s.yaml:17:28: steps.2.load.do.2: expected create, resume, suspend, wake or delete, found the text 'exec'; write {exec: [program, ...]}"
        ],
    ),
    "exec of nothing": (
        [("{exec: [ls]}", "{exec: []}")],
        ["s.yaml:17:35: steps.2.load.do.2.exec: must not be empty"],
    ),
    "fraction as argument": (
        [("{exec: [ls]}", "{exec: [sleep, 0.5]}")],
        ["s.yaml:17:43: steps.2.load.do.2.exec.1: expected text, found the number 0.5; quote it"],
    ),
    "operation of no kind": (
        [("{exec: [ls]}", "[exec]")],
        [
            "s.yaml:17:28: steps.2.load.do.2: expected create, resume, suspend, wake, delete or {exec: [program, ...]}, found a list"
        ],
    ),
    "misspelt step": (
        [("- provision", "- provison")],
        ["s.yaml:14:5: steps.1: expected cleanup or provision, found the text 'provison'; did you mean `provision`?"],
    ),
    "step of no kind": (
        [("- provision", "- {prepare: now}")],
        [
            "s.yaml:14:5: steps.1: expected cleanup, provision, load: {group: ..., do: [...]} or "
            "durability: {group: ...}, found a mapping of prepare"
        ],
    ),
    "provision with what is no mapping": (
        [("- provision", "- {provision: now}")],
        ["s.yaml:14:17: steps.1.provision: expected a mapping, found the text 'now'"],
    ),
    "unknown built-in program": (
        [("{exec: [ls]}", "{exec: cpu-benchmrk}")],
        [
            "s.yaml:17:35: steps.2.load.do.2.exec: no program for this place is called 'cpu-benchmrk'; known are "
            "cpu-benchmark, write-benchmark, write-random, mark, verify"
        ],
    ),
    "arguments for a program that is given with its own": (
        [("{exec: [ls]}", "{exec: [ls], args: [x]}")],
        ["s.yaml:17:28: steps.2.load.do.2: args are for a built-in program; write the arguments behind the program"],
    ),
    "unknown workload": (
        [("memory: 64Mi}", "memory: 64Mi, workload: keepr}")],
        [
            "s.yaml:11:62: groups.idle.workload: no program for this place is called 'keepr'; known are "
            "keeper, cpu-hog, disk-hog, memory-hog"
        ],
    ),
    "workload and command": (
        [("memory: 64Mi}", "memory: 64Mi, workload: keeper, command: [ls]}")],
        ["s.yaml:11:9: groups.idle: give one of command and workload"],
    ),
    "when of no matrix key": (
        [('hold: "{{ hold }}"', 'hold: "{{ hold }}"\n      when: {cpus: 50m}')],
        ["s.yaml:20:14: steps.2.load.when.cpus: no key of the matrix is called `cpus`; did you mean `cpu`?"],
    ),
    "when of no matrix value": (
        [('hold: "{{ hold }}"', 'hold: "{{ hold }}"\n      when: {cpu: [50m, 60m]}')],
        ["s.yaml:20:19: steps.2.load.when.cpu: no cpu has the text '60m'; it has 50m, 1"],
    ),
    "durability before any suspend": (
        [("checks:", "  - durability: {group: idle}\nchecks:")],
        ["s.yaml:20:25: steps.3.durability.group: durability before any suspend of the group `idle`"],
    ),
    "durability without a store": (
        [
            ("  - provision\n", ""),
            ("resume, {exec: [ls]}]", "resume, suspend]"),
            ("checks:", "  - durability: {group: idle}\nchecks:"),
        ],
        [
            "s.yaml:19:17: steps.2.durability: durability needs a store, which the step provision starts; put "
            "provision before it"
        ],
    ),
    "figure of durability without a step": (
        [("of: resume.p50", "of: durability.lost"), ("at_most: 4s", "at_most: 0")],
        ["s.yaml:21:10: checks.0.of: no step watches snapshots; add a step durability"],
    ),
    "program that no step runs": (
        [("of: resume.p50, where: {cpu: 50m}", "of: exec.p50, where: {program: sl}")],
        ["s.yaml:21:37: checks.0.where.program: no program has the text 'sl'; it has ls"],
    ),
    "memory for a figure in bytes": (
        [("of: resume.p50", "of: density.memory_per_sandbox")],
        ["s.yaml:21:66: checks.0.at_most: '4s' is not a memory quantity; write it with a unit, such as 64Mi or 2Gi"],
    ),
    "load without anything": (
        [("- provision", "- load")],
        [
            "s.yaml:14:5: steps.1: expected cleanup or provision, found the text 'load'; write load: {group: ..., do: [...]}"
        ],
    ),
    "misspelt until": (
        [('hold: "{{ hold }}"', 'hold: "{{ hold }}"\n      until: refuse')],
        ["s.yaml:20:14: steps.2.load.until: expected refused, found the text 'refuse'; did you mean `refused`?"],
    ),
    "bad name": (
        [("name: base", "name: My Base")],
        [
            "s.yaml:1:7: name: 'My Base' is not a name; write small letters, digits and dashes, beginning with a letter, at most 40"
        ],
    ),
    "bad group name": (
        [("  idle: {", "  Idle: {"), ("group: idle", "group: Idle")],
        [
            "s.yaml:11:3: groups.Idle: 'Idle' is not a name; write small letters, digits and dashes, beginning with a letter, at most 40",
            "s.yaml:16:14: steps.2.load.group: 'Idle' is not a name; write small letters, digits and dashes, beginning with a letter, at most 40",
        ],
    ),
    "other version": (
        [("name: base", "name: base\nversion: 2")],
        ["s.yaml:2:10: version: expected 1, found the number 2"],
    ),
    "groups of nothing": (
        [('  idle: {count: 4, cpu: "{{ cpu }}", memory: 64Mi}\n', "")],
        ["s.yaml:11:1: groups: expected a mapping, found nothing (null)"],
    ),
    "steps as text": (
        [("steps:\n  - cleanup\n  - provision\n  - load:\n", "steps: cleanup\nother:\n  - load:\n")],
        ["s.yaml:12:8: steps: expected a list, found the text 'cleanup'", "s.yaml:13:1: other: unknown key `other`"],
    ),
    "anchor and alias": (
        [("count: 4", "count: &n 4"), ("in_flight: 2", "in_flight: *n")],
        [
            "s.yaml:11:17: groups.idle.count: anchors (&n) are not allowed; write the value out twice",
            "s.yaml:18:27: steps.2.load.pacing.in_flight: aliases (*name) are not allowed; write the value out",
        ],
    ),
    "tag": (
        [("count: 4", "count: !!int 4")],
        ["s.yaml:11:17: groups.idle.count: tags (!name) are not allowed; remove it"],
    ),
    "merge key": (
        [("memory: 64Mi}", "memory: 64Mi, <<: {count: 2}}")],
        ["s.yaml:11:52: groups.idle: merge keys (<<) are not allowed; write the keys out"],
    ),
    "second document": (
        [("checks:", "---\nchecks:")],
        ["s.yaml:20:1: a second document begins here; one file holds one document"],
    ),
    "directive": (
        [("name: base", "%YAML 1.1\n---\nname: base")],
        ["s.yaml:2:1: directives (lines that begin with %) are not allowed; remove them"],
    ),
    "number as key": (
        [("demo: {hold: 1s}", "1: {hold: 1s}")],
        ["s.yaml:7:3: sizes: the key `1` is not text; quote it"],
    ),
    "no key": (
        [("demo: {hold: 1s}", ": {hold: 1s}")],
        ["s.yaml:7:3: sizes: a key is missing before `:`"],
    ),
    "unquoted placeholder": (
        [('hold: "{{ hold }}"', "hold: {{ hold }}")],
        ['s.yaml:19:14: steps.2.load.hold: a key must be text; a placeholder needs quotes: "{{ name }}"'],
    ),
    "tab": (
        [("  hold: 3s", "\thold: 3s")],
        ["s.yaml:5:1: a tab in the indentation; use spaces"],
    ),
    "control character": (
        [("cost?", "cost\x07?")],
        ["s.yaml:2:25: control character U+0007; remove it"],
    ),
    "bracket not closed": (
        [("[50m, 1]", "[50m, 1")],
        [
            "s.yaml:5:7: not YAML: expected `,` or `]`; is a bracket not closed, or text with `: ` or `, ` not quoted? (it began at line 4)"
        ],
    ),
    "brace not closed": (
        [("{hold: 1s}", "{hold: 1s")],
        [
            "s.yaml:8:7: not YAML: expected `,` or `}`; is a brace not closed, or text with `: ` or `, ` not quoted? (it began at line 7)"
        ],
    ),
    "quote not closed": (
        [('"{{ hold }}"', '"{{ hold }}')],
        ["s.yaml:21:53: not YAML: the file ends before a quote is closed (it began at line 19)"],
    ),
    "colon in text": (
        [("title: What does it cost?", "title: Cost: what?")],
        ["s.yaml:2:12: not YAML: `:` cannot stand here; indent evenly, or quote text that holds `: `"],
    ),
    "wrong indentation": (
        [("  - provision", " - provision")],
        [
            "s.yaml:14:2: not YAML: does not fit its surroundings; check the indentation, dashes and brackets (it began at line 1)"
        ],
    ),
    "at sign": (
        [("title: What does it cost?", "title: @cost")],
        ["s.yaml:2:8: not YAML: `@` cannot begin a value; quote the text"],
    ),
    "undefined placeholder": (
        [('"{{ cpu }}"', '"{{ cpus }}"'), ("parameters:", "parameters:\n  cpus_: 2")],
        ["s.yaml:12:25: groups.idle.cpu: placeholder `cpus` is not defined; did you mean `cpus_`?"],
    ),
    "placeholder not complete": (
        [('"{{ hold }}"', '"{{ hold }"')],
        ["s.yaml:19:13: steps.2.load.hold: `{{` begins a placeholder that is not complete; write {{ name }}"],
    ),
    "placeholder in a name": (
        [("name: base", 'name: "{{ hold }}"')],
        ["s.yaml:1:7: name: no placeholder can stand here; write the value out"],
    ),
    "placeholder in a parameter": (
        [("hold: 3s", 'hold: "{{ other }}"')],
        ["s.yaml:5:9: parameters.hold: no placeholder can stand here; write the value out"],
    ),
    "list inside text": (
        [("title: What does it cost?", 'title: "About {{ sizes-of-cpu }}"')],
        ["s.yaml:2:8: title: placeholder `sizes-of-cpu` is a list; a list cannot stand inside text"],
    ),
    "matrix value in the title": (
        [("title: What does it cost?", 'title: "About {{ cpu }}"')],
        ["s.yaml:2:8: title: a matrix value has its place in groups and steps only; this is about all trials"],
    ),
    "matrix value in a check": (
        [("at_most: 4s", 'at_most: "{{ cpu }}"')],
        ["s.yaml:21:50: checks.0.at_most: a check is about all trials; narrow it to some with `where: {cpu: VALUE}`"],
    ),
    "unused parameter": (
        [("  hold: 3s", "  hold: 3s\n  spare: 1")],
        ['s.yaml:6:3: parameters.spare: nothing uses "{{ spare }}"; use it or remove it'],
    ),
    "unused matrix key": (
        [('"{{ cpu }}"', "50m")],
        ['s.yaml:9:3: matrix.cpu: nothing uses this key; write "{{ cpu }}" where it belongs'],
    ),
    "size of another parameter": (
        [("{hold: 1s}", "{holds: 1s}")],
        [
            "s.yaml:7:10: sizes.demo.holds: size `demo` sets `holds`, which is not among parameters; did you mean `hold`?"
        ],
    ),
    "unknown size": (
        [("name: base", "name: base\nsize: dmeo")],
        ["s.yaml:2:7: size: no size is called `dmeo`; known are demo, published; did you mean `demo`?"],
    ),
    "empty matrix": (
        [('"{{ sizes-of-cpu }}"', "[]"), ("  sizes-of-cpu: [50m, 1]\n", "")],
        ["s.yaml:8:8: matrix.cpu: the list is empty, so that there would be no trial"],
    ),
    "matrix without a list": (
        [('"{{ sizes-of-cpu }}"', '"{{ hold }}"'), ("  sizes-of-cpu: [50m, 1]\n", "")],
        ["s.yaml:8:8: matrix.cpu: expected a list, found the text '3s'"],
    ),
    "matrix value twice": (
        [("[50m, 1]", "[50m, 1, 50m]")],
        ["s.yaml:9:8: matrix.cpu.2: the text '50m' is in the list twice"],
    ),
    "matrix key that is a parameter": (
        [('  cpu: "', '  hold: "'), ('"{{ cpu }}"', "50m"), ("where: {cpu: 50m}, ", "")],
        [
            "s.yaml:9:3: matrix.hold: `hold` is a parameter too; give one of them another name",
            "s.yaml:19:13: steps.2.load.hold: '1' is not a duration; write it with a unit, such as 500ms, 30s or 5m (with hold = 1)",
        ],
    ),
    "reserved matrix key": (
        [('  cpu: "', '  how: "'), ('"{{ cpu }}"', '"{{ how }}"'), ("{cpu: 50m}", "{how: booted}")],
        ["s.yaml:9:3: matrix.how: a matrix key cannot be called `how`: checks use that word in `where`"],
    ),
    "too many trials": (
        [
            ("name: base", "name: base\nrepetitions: 1000"),
            ("[50m, 1]", "[1m, 2m, 3m, 4m, 5m, 6m, 7m, 8m, 9m, 10m, 11m]"),
            ("{cpu: 50m}", "{cpu: 5m}"),
        ],
        ["s.yaml:9:1: matrix: 11 combinations in 1000 repetitions are more than 10,000 trials"],
    ),
    "fault of some combinations": (
        [('count: 4, cpu: "{{ cpu }}"', 'count: "{{ cpu }}", cpu: 50m')],
        ["s.yaml:11:17: groups.idle.count: expected a whole number, found the text '50m' (with cpu = 50m)"],
    ),
    "unknown group": (
        [("group: idle", "group: idel")],
        ["s.yaml:16:14: steps.2.load.group: no group is called `idel`; did you mean `idle`?"],
    ),
    "group that nothing loads": (
        [("steps:", "  spare: {count: 1, cpu: 1, memory: 1Gi}\nsteps:")],
        ["s.yaml:12:3: groups.spare: no step loads the group `spare`"],
    ),
    "no cleanup": (
        [("  - cleanup\n", "")],
        ["s.yaml:13:5: steps.0: the first step must be cleanup, so that the trial starts from zero"],
    ),
    "resume before create": (
        [("[create, resume,", "[resume, create,")],
        ["s.yaml:17:12: steps.2.load.do.0: resume before any create of the group `idle`"],
    ),
    "exec before resume": (
        [("[create, resume, {exec: [ls]}]", "[create, {exec: [ls]}, resume]")],
        ["s.yaml:17:20: steps.2.load.do.1: exec before any resume of the group `idle`"],
    ),
    "create in every round": (
        [('hold: "{{ hold }}"', 'hold: "{{ hold }}"\n      repeat: 2')],
        [
            "s.yaml:17:12: steps.2.load.do.0: create in round 2 finds the group `idle` created already; add delete to `do`, or drop repeat"
        ],
    ),
    "check of an operation not done": (
        [("resume.p50", "suspend.p50")],
        ["s.yaml:21:10: checks.0.of: no step does suspend; steps do create, exec, resume"],
    ),
    "check of no figure": (
        [("resume.p50", "resume.p51")],
        [
            "s.yaml:21:10: checks.0.of: 'resume.p51' is not a figure; write OPERATION.FIGURE, such as resume.p50 or create.failed, or density.running"
        ],
    ),
    "check with a number for a duration": (
        [("at_most: 4s", "at_most: 4")],
        ["s.yaml:21:50: checks.0.at_most: '4' is not a duration; write it with a unit, such as 500ms, 30s or 5m"],
    ),
    "check with a duration for a count": (
        [("resume.p50", "resume.failed")],
        ["s.yaml:21:53: checks.0.at_most: expected a whole number of at least 0 for failed, found the text '4s'"],
    ),
    "check without a bound": (
        [(", at_most: 4s", "")],
        ["s.yaml:21:5: checks.0: give exactly one of at_most and at_least"],
    ),
    "check with two bounds": (
        [("at_most: 4s", "at_most: 4s, at_least: 1s")],
        ["s.yaml:21:5: checks.0: give exactly one of at_most and at_least"],
    ),
    "check where nothing is": (
        [("{cpu: 50m}", "{cpus: 50m}")],
        ["s.yaml:21:30: checks.0.where.cpus: unknown key `cpus`; did you mean `cpu`?"],
    ),
    "check where no value is": (
        [("{cpu: 50m}", '{cpu: "1"}')],
        ["s.yaml:21:35: checks.0.where.cpu: no cpu has the text '1'; it has 50m, 1"],
    ),
    "check of an unknown group": (
        [("{cpu: 50m}", "{group: busy}")],
        ["s.yaml:21:37: checks.0.where.group: no group has the text 'busy'; it has idle"],
    ),
    "check of an unknown manner": (
        [("{cpu: 50m}", "{how: restord}")],
        ["s.yaml:21:35: checks.0.where.how: no how has the text 'restord'; it has booted, restored"],
    ),
    "several at once": (
        [
            ("title: What does it cost?", "title: off"),
            ("count: 4", "count: -1"),
            ("resume.p50", "wake.p50"),
            ("{cpu: 50m}", "{cpus: 50m}"),
        ],
        [
            "s.yaml:2:8: title: `off` is true, false or text to different readers; quote it or write true/false",
            "s.yaml:11:17: groups.idle.count: must be at least 1, found -1",
            "s.yaml:21:10: checks.0.of: no step does wake; steps do create, exec, resume",
            "s.yaml:21:28: checks.0.where.cpus: unknown key `cpus`; did you mean `cpu`?",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fault_is_told(name: str, tmp_path: Path) -> None:
    changes, expected = CASES[name]
    assert problems_of(changed(*changes), tmp_path) == expected


def test_base_has_no_fault(tmp_path: Path) -> None:
    assert problems_of(BASE, tmp_path) == []
