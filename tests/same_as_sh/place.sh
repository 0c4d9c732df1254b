# Makes the directory in which each command of commands.txt runs: a small project with sources, data, logs and a repository.
set -e
export GIT_AUTHOR_DATE='2026-01-02T03:04:05Z' GIT_COMMITTER_DATE='2026-01-02T03:04:05Z'
mkdir -p src/util tests docs data logs empty 'with space'
cat >src/app.py <<'EOF'
"""The application."""
import json
import sys

from util import helpers


def main(argv):
    # TODO: read the configuration
    total = 0
    for name in argv[1:]:
        total += helpers.count(name)
    print(json.dumps({"total": total}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
EOF
cat >src/util/helpers.py <<'EOF'
"""Helpers."""


def count(path):
    with open(path) as file:
        return sum(1 for _ in file)


def add(a, b):
    return a + b
EOF
: >src/util/__init__.py
cat >tests/test_helpers.py <<'EOF'
import os, sys, unittest
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "src"))
from util import helpers


class Helpers(unittest.TestCase):
    def test_add(self):
        self.assertEqual(helpers.add(1, 2), 3)
EOF
cat >src/index.js <<'EOF'
const fs = require("fs");
// FIXME: handle errors
function greet(name) {
  return `hello ${name}`;
}
module.exports = { greet };
if (require.main === module) console.log(greet(process.argv[2] || "world"));
EOF
cat >package.json <<'EOF'
{
  "name": "place",
  "version": "1.2.3",
  "scripts": {
    "hello": "echo hello from npm",
    "fail": "exit 3"
  },
  "dependencies": {}
}
EOF
cat >Makefile <<'EOF'
all: out.txt
out.txt: data/people.csv
	@echo building
	@wc -l < data/people.csv > out.txt
clean:
	rm -f out.txt
fail:
	@exit 3
.PHONY: all clean fail
EOF
cat >data/people.csv <<'EOF'
id,name,city,age
1,Ada,London,36
2,Grace,New York,45
3,Linus,Helsinki,28
4,Barbara,Boston,52
5,Ken,Berkeley,41
6,Margaret,Cambridge,33
EOF
cat >data/config.json <<'EOF'
{"server": {"host": "127.0.0.1", "port": 8080}, "debug": true, "tags": ["a", "b", "c"]}
EOF
printf 'alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\n' >data/greek.txt
printf 'b\na\nc\na\nb\na\n' >data/letters.txt
printf 'one\ttwo\tthree\nfour\tfive\tsix\n' >data/tabs.tsv
printf 'no newline at the end' >data/bare.txt
printf 'caf\303\251 na\303\257ve \342\202\254\n' >data/utf8.txt
seq 1 200 >data/numbers.txt
n=0
while [ $n -lt 40 ]; do
    n=$((n + 1))
    case $((n % 7)) in
        0) level=ERROR ;;
        3) level=WARN ;;
        *) level=INFO ;;
    esac
    printf '2026-01-02T03:%02d:00 %s request %d took %d ms from 10.0.0.%d\n' "$n" "$level" "$n" $((n * 37 % 211)) $((n % 5))
done >logs/app.log
printf '# Place\n\nA small project.\n\n## Usage\n\nRun it.\n' >README.md
printf '# Guide\n\nSee [the README](../README.md).\n' >docs/guide.md
printf '#!/bin/sh\necho "script: $*"\nexit 4\n' >run.sh
chmod 755 run.sh
echo secret >.hidden
echo spaced >'with space/a file.txt'
ln -s data/greek.txt link.txt
git init -q -b main .
git config user.email place@example.com
git config user.name Place
git config commit.gpgsign false
git config gc.auto 0
git config maintenance.auto false
printf '*.pyc\n__pycache__/\nout.txt\n' >.gitignore
git add -A
git commit -q -m 'Begin the project'
echo 'More.' >>README.md
git commit -q -a -m 'Say more in the README'
git tag v1.0
git branch feature
# Samples, which would be copied for each command of git.
rm -r .git/hooks
