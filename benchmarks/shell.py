"""Shell commands as agents write them: a few verbatim ones that recur, and templates with thousands of outcomes."""

from random import Random

from benchmarks.text import ADJECTIVES, NOUNS, VERBS, Pool

FREQUENT = (
    "git status", "git diff", "git log --oneline -10", "ls -la", "npm test", "pytest -q", "cargo test", "pwd",
    "npm run build", "git diff --stat", "cargo clippy --all-targets", "ruff check .", "go test ./...", "make test",
)  # fmt: skip
SIMPLE = (
    "git add {p} {q} && git commit -m '{v} the {a} {n}'",
    "git checkout -b {n}/{v}-{m}-{i}",
    "git show {h}:{p} | head -{i}",
    "git log --oneline --since='{d} days ago' -- {p} | wc -l",
    "git diff {h}..HEAD -- {p} | grep '^[+-]' | head -n {i}",
    "git stash push -m '{a} {n}' && git pull --rebase origin {n} && git stash pop",
    "git push -u origin {n}/{v}-{m}",
    "git revert --no-edit {h}",
    "gh pr create --title '{V} {n} {m}' --body 'Closes #{i}. {V}s the {a} {n}.' --base main",
    "gh pr view {i} --json state,mergeable -q '.state'",
    "gh run list --branch {n}-{m} --limit {d}",
    "pytest {p} -x -q -k '{v} and not {a}' 2>&1 | tail -{d}",
    "python -m pytest tests/test_{n}.py::test_{v}_{m} -vv --maxfail={d}",
    "cd /work/{n} && python -m pytest -n {d} --cov={m} --cov-report=term-missing",
    "PYTHONPATH=src uv run pytest {p} --durations={d} || true",
    "uv run mypy --strict {p} {q} 2>&1 | grep -c error",
    "ruff format {p} && ruff check --fix {p} {q}",
    "npm run {v}:{n} -- --grep '{a} {m}' --timeout {i}",
    "npm install --save-dev {n}-{m}@^{d}.{e}.0",
    "npx tsc --noEmit -p {n}/tsconfig.json | sort | uniq -c | sort -rn | head -{d}",
    "npx eslint '{n}/**/*.ts' --max-warnings {d} --format compact",
    "pnpm --filter @{n}/{m} run build && ls -la packages/{m}/dist",
    "cargo test -p {n}-{m} {v}_{a} -- --nocapture 2>&1 | tail -n {i}",
    "RUST_LOG={n}={a} cargo run --release --bin {m} -- --limit {i}",
    "cargo build --features {n},{m} && ./target/debug/{n} {v} --{a}",
    "go test ./internal/{n}/... -run 'Test{V}{N}' -count={d}",
    "sed -n '{i},{j}p' {p}",
    "sed -i 's/{v}_{n}/{v}_{m}/g' {p} {q}",
    "sed -i.bak -e '{i}d' -e 's|/{n}/|/{m}/|' {p} && rm {p}.bak",
    "grep -rn '{v}_{n}' --include='*.py' src/{m} | head -{d}",
    "grep -rnE '({n}|{m})\\(.*{a}' {p} {q} | cut -d: -f1 | sort -u",
    "rg -n --type ts 'export (const|function) {v}{N}' -g '!**/dist/**'",
    "rg -l '{n}_{m}' | xargs sed -i 's/{n}_{m}/{m}_{n}/g'",
    "find . -name '*{n}*' -not -path './node_modules/*' -mtime -{d} | xargs wc -l | sort -n",
    "find {n} -type f -name '*.{m}.json' -exec jq -r '.{a}' {{}} +",
    "cat {p} | head -{i} | tail -{d}",
    "wc -l {p} {q} && tail -n +{i} {p} | head -{d}",
    "mkdir -p {n}/{m}/{a} && cp {p} {n}/{m}/ && chmod +x {n}/{m}/*.py",
    "mv {p} {q} && git rm --cached {p}",
    "rm -rf {n}/dist {m}/__pycache__ && make -C {n} {v} -j{d}",
    "curl -sS -H 'Accept: application/json' 'http://localhost:{i}/api/{n}s?{a}={d}' | jq '.{m}[0]'",
    "docker compose -f {n}.yml up -d {m} && docker logs --tail {i} {n}-{m}-1",
    "kubectl -n {n} get pods -l app={m} -o wide | awk '{{print $1, $3}}'",
    "psql \"$DATABASE_URL\" -c \"select {n}_id, count(*) from {m}s where {a} group by 1 limit {i}\"",
    "sqlite3 {n}.db 'select max({m}) from {a}_{n}'",
    "for f in {n}/*.py; do echo \"== $f\"; grep -c {v} \"$f\"; done",
    "while read -r {n}; do {v} \"${n}\" || break; done < {m}.txt > {a}.log 2>&1",
    "if [ -f {p} ]; then make {v}; else echo 'no {a} {n}' >&2; exit {d}; fi",
    "export {N}_{M}={i}; timeout {i} ./scripts/{v}.sh --{a} | tee /tmp/{n}-{i}.log",
    "jq -c 'select(.{n} > {i}) | {{{m}, {a}}}' {n}.jsonl | wc -l",
    "diff <(sort {p}) <(sort {q}) | head -{d}",
    "sleep {d} && ps aux | grep -v grep | grep {n}-{m}",
    "tar czf /tmp/{n}-{i}.tgz --exclude={m} {a}/ && du -sh /tmp/{n}-{i}.tgz",
    "node -e \"const {{ {v}{N} }} = require('./{n}/{m}'); console.log({v}{N}({i}))\"",
    "python3 -c 'import {n}; print({n}.{v}({i}, {a}=True))'",
)  # fmt: skip
HEREDOCS = (
    "git commit -m \"$(cat <<'EOF'\n{V} the {a} {n}\n\n{prose}\n\nSigned-off-by: Dev <dev@{n}.example>\nEOF\n)\"",
    "cat > {p} <<'EOF'\n{code}\nEOF\npython {p}",
    "python3 - <<'PY'\n{code}\nPY",
    "psql -d {n} <<SQL\nselect {m}, sum({i}) from {a}_{n} group by 1;\nSQL",
    "cat <<EOF | tee -a {n}.{m}.md\n{prose}\nEOF",
    "gh pr create --title '{V} {n}' --body \"$(cat <<'EOF'\n## Summary\n{prose}\nEOF\n)\"",
)


class Shell:
    """Writes shell commands; about a fifth repeat a frequent one, a tenth carry a heredoc."""

    def __init__(self, rng: Random, pool: Pool) -> None:
        self.rng, self.pool = rng, pool

    def command(self) -> str:
        rng, pool = self.rng, self.pool
        roll = rng.random()
        if roll < 0.2:
            return rng.choice(FREQUENT)
        template = rng.choice(HEREDOCS if roll < 0.3 else SIMPLE)
        n, m = rng.choice(NOUNS), rng.choice(NOUNS)
        v, a = rng.choice(VERBS), rng.choice(ADJECTIVES)
        text = template.format(
            n=n, m=m, v=v, a=a, N=n.title(), M=m.upper(), V=v.title(), p=pool.path(), q=pool.path(),
            h=f"{rng.getrandbits(28):07x}", i=rng.randrange(10, 9000), j=rng.randrange(9000, 9999),
            d=rng.randrange(1, 60), e=rng.randrange(10),
            prose=pool.take("prose", 220), code=pool.take("code", pool.size(500, 0.9, 6000)),
        )  # fmt: skip
        return f"cd {pool.words(1)} && {text}" if rng.random() < 0.1 else text
