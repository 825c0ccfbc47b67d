# check_rooms.py: which file may include which, and that every room says what lives there (README.md); prints the lines
# that break a rule.
# python3 tests/check_rooms.py [ROOT]
import os
import re
import sys

# rooms of a floor: each includes only itself and those before it
ORDER = {
    "host": "base shape surface model import fit batch method cuda items optimise query measure".split(),
    "kernels": "lane tree shape clock term method items".split(),
}
README_LINES = 15
# what kernels include where something else takes the GPU's or a number's place
STAND_INS = {"twin.h", "counted.h"}
SOURCE = re.compile(r"\.(c|cc|h|inl|def|cu)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def room(path):
    """src/host/model/pairs.c: host/model; src/kernels/clock/table.h: kernels; include/abut/abut.h: include."""
    parts = path.split("/")
    if parts[0] == "include":
        return "include"
    if parts[0] == "src" and parts[1] in ("host", "kernels"):
        return "/".join(parts[1:3]) if len(parts) > 3 else parts[1]
    return parts[1] if parts[0] == "src" else parts[0]


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = []
        for top in ("include", "src", "tests", "tools", "bench", "examples"):
            for folder, _, names in os.walk(os.path.join(root, top)):
                inside = os.path.relpath(folder, root)
                self.files += [f"{inside}/{name}" for name in names if SOURCE.search(name)]
        self.known = set(self.files)
        self.cmake = self.read_cmake()

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def read_cmake(self):
        """All that CMake is told: it writes headers, and names them there."""
        text = ""
        for folder in ("", "cmake", "tests", "tools/work"):
            at = os.path.join(self.root, folder)
            for name in os.listdir(at) if os.path.isdir(at) else []:
                if name == "CMakeLists.txt" or name.endswith(".cmake"):
                    text += self.read(os.path.join(folder, name))
        return text

    def includes(self, path):
        """Lines of a file that include another: (number, name, whether one of ours is meant)."""
        for number, line in enumerate(self.read(path).splitlines(), 1):
            found = INCLUDE.match(line)
            if found:
                quote, name = found.groups()
                yield number, name, quote == '"' or name.startswith("abut/")

    def target(self, path, name):
        """The file of this tree that a line includes, or None."""
        for folder in (os.path.dirname(path), "include", "src", "tests", "tools", "tools/work"):
            at = os.path.normpath(os.path.join(folder, name))
            if at in self.known:
                return at
        return None


def is_bench(path):
    return os.path.basename(path).startswith("bench")


def broken_rule(path, target):
    """Why path may not include target; None if it may."""
    here, there = room(path), room(target)
    if here == "include" and there != "include":
        return "a public header includes public headers only"
    if here == "examples" and there not in ("include", "examples"):
        return "an example includes public headers only"
    if here == "cli" and there not in ("include", "cli"):
        if is_bench(path) and there == "host/measure":
            return None
        return "the program includes public headers only (bench: host/measure too)"
    if here.startswith("kernels") and not there.startswith("kernels") and there != "include":
        return None if os.path.basename(target) in STAND_INS else "kernels include kernels and public headers only"
    if here.startswith("host"):
        if there.startswith("kernels"):
            return None if target.endswith((".h", ".def")) else "host code includes no kernels, only their data"
        if not there.startswith("host"):
            return None if there == "include" else "host code includes host, kernels and public headers only"
    return out_of_order(here, there)


def out_of_order(here, there):
    floor, name, other = here.split("/")[0], here.split("/")[-1], there.split("/")[-1]
    if floor not in ORDER or there.split("/")[0] != floor or floor in (here, there):
        return None
    for one in (name, other):
        if one not in ORDER[floor]:
            return f"{floor}/{one} is not in check_rooms.py's order"
    if ORDER[floor].index(other) > ORDER[floor].index(name):
        return f"{there} comes after {here}"
    return None


def circles(edges):
    """Sets of rooms that reach each other."""
    reach = {a: {b for x, b in edges if x == a} for a, _ in edges}
    for _ in reach:
        for a in reach:
            reach[a] |= {c for b in reach[a] for c in reach.get(b, ())}
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in reach}
    return [sorted(circle) for circle in found if len(circle) > 1]


def check(root):
    tree = Tree(root)
    messages, edges = [], {}
    for path in sorted(tree.files):
        for number, name, ours in tree.includes(path):
            line = f'{path}:{number}: #include "{name}"'
            target = tree.target(path, name)
            if target is None:
                if ours and os.path.basename(name) not in tree.cmake:
                    messages.append(f"{line}: there is no such file")
                continue
            broken = broken_rule(path, target)
            if broken:
                messages.append(f"{line}: {broken}")
            if path.startswith("src/") and target.startswith("src/") and room(path) != room(target):
                edges.setdefault((room(path), room(target)), line)
    for circle in circles(edges):
        messages.append(f"{', '.join(circle)} include each other:")
        messages += [f"  {line}" for (a, b), line in sorted(edges.items()) if a in circle and b in circle]
    return messages + list(missing_readmes(root))


def missing_readmes(root):
    """Rooms whose README.md is not there, or too long to be read first."""
    rooms = ["include/abut", "tests", "tools", "bench", "src/cli"]
    for floor in ("src/host", "src/kernels"):
        rooms += [floor] + [f"{floor}/{name}" for name in os.listdir(os.path.join(root, floor))]
    for at in sorted(rooms):
        path = os.path.join(root, at, "README.md")
        if not os.path.isdir(os.path.join(root, at)):
            continue
        if not os.path.exists(path):
            yield f"{at}: has no README.md"
        else:
            with open(path, encoding="utf-8") as file:
                count = len(file.readlines())
            if count > README_LINES:
                yield f"{at}/README.md: {count} lines, at most {README_LINES}"


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
