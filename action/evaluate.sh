#!/usr/bin/env bash
# Runs an evaluation for a pull request, tells of it in the step summary and in one comment, and leaves with the exit
# code of `assay eval run`: 0 may go in, 1 regressed or mixed, 2 bad input, 3 not decided, 4 invalid, 5 budget reached.
# Values of the event come in as variables and are never pasted into a script.
set -euo pipefail

refuse() {
  printf '::error::%s\n' "$1"
  exit 2
}

# The candidate's instructions are obeyed by an agent that holds a key. Who can't push here must not write them.
[ "${EVENT:-}" != pull_request_target ] || refuse "pull_request_target hands secrets to strangers; use pull_request"
if [ -n "${PULL:-}" ] && [ "${HEAD_REPOSITORY:-}" != "${GITHUB_REPOSITORY:?}" ]; then
  refuse "this pull request comes from a fork: push its branch to this repository to have it evaluated"
fi
[[ "${PULL:-}" =~ ^[0-9]*$ ]] || refuse "the event's pull request has no number"

baseline=${ASSAY_BASELINE:-${BASE_SHA:-}}
candidate=${ASSAY_CANDIDATE:-${HEAD_SHA:-}}
[ -n "$baseline" ] && [ -n "$candidate" ] || refuse "no pull request here: give both baseline and candidate"

out=${ASSAY_OUT:?}
mkdir -p "$out"
rm -f "$out/evaluation.json" "$out/comment.md" "$out/report.html"
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
outputs=${GITHUB_OUTPUT:-/dev/null}

# Without a change to what agents are told there is nothing to compare.
if [ -z "${ASSAY_BASELINE:-}${ASSAY_CANDIDATE:-}" ]; then
  for commit in "$baseline" "$candidate"; do
    git rev-parse --quiet --verify --end-of-options "$commit^{commit}" >/dev/null ||
      refuse "the commits of the pull request are not here: check out with fetch-depth: 0"
  done
  differs=0
  git diff --quiet --no-ext-diff "$baseline...$candidate" -- \
    CLAUDE.md AGENTS.md .claude .codex .agents .mcp.json .assay/config.toml || differs=$?
  [ "$differs" -le 1 ] || refuse "the two sides can't be compared; check out with fetch-depth: 0"
  if [ "$differs" -eq 0 ]; then
    echo "No instructions for agents changed." | tee -a "$summary"
    echo "verdict=unchanged" >>"$outputs"
    exit 0
  fi
fi

words=(--tasks "${ASSAY_TASKS:?}" --baseline "$baseline" --candidate "$candidate")
words+=(--repeats "${ASSAY_REPEATS:-3}" --jobs "${ASSAY_JOBS:-1}" --out "$out/run")
[ -z "${ASSAY_MAX_COST:-}" ] || words+=(--max-cost "$ASSAY_MAX_COST")
[ -z "${ASSAY_ATTEMPT:-}" ] || words+=(--attempt "$ASSAY_ATTEMPT")
words+=(-o "$out/evaluation.json" -o "$out/comment.md" -o "$out/report.html")

# The agent's side never gets the token that can write here.
code=0
env -u COMMENT_TOKEN -u GH_TOKEN -u GITHUB_TOKEN assay eval run "${words[@]}" || code=$?

verdict=$(python3 - "$out/evaluation.json" <<'PY'
import json, sys
known = ("improved", "mixed", "neutral", "regressed", "inconclusive", "invalid")
try:
    with open(sys.argv[1], "rb") as file:
        said = json.load(file)["verdict"]
except (OSError, ValueError, KeyError, TypeError):
    said = None
print(said if said in known else "")
PY
)
if [ -n "$verdict" ]; then
  {
    echo "verdict=$verdict"
    echo "json=$out/evaluation.json"
  } >>"$outputs"
elif [ "$code" -eq 0 ]; then
  refuse "assay ended well and said nothing; that is no verdict"
fi

if [ -s "$out/comment.md" ]; then
  cat "$out/comment.md" >>"$summary"
else
  echo "The evaluation ended without a report (exit code $code); the log says why." | tee "$out/comment.md" >>"$summary"
fi

# A comment that can't be written is a pity, and changes nothing about the verdict.
if [ "${ASSAY_COMMENT:-true}" = true ] && [ -n "${PULL:-}" ]; then
  GH_TOKEN=${COMMENT_TOKEN:-} bash "${ASSAY_ACTION:?}/comment.sh" "$out/comment.md" ||
    echo "::warning::the comment on the pull request could not be written"
fi
exit "$code"
