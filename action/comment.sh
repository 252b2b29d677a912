#!/usr/bin/env bash
# Writes one comment on a pull request, or updates the one that is there; a hidden first line says which it is.
set -euo pipefail

file=$1
marker='<!-- assay:evaluation -->'
where="repos/${GITHUB_REPOSITORY:?}/issues"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
# GitHub takes 65,536 characters; the whole report is in the artifact.
python3 - "$file" "$marker" >"$body" <<'PY'
import sys
text, marker = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]
text = text if text.startswith(marker) else f"{marker}\n{text}"
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.write(text if len(text) <= 60000 else text[:60000] + "\n\n… cut here: the artifact holds the whole report.\n")
PY

# Somebody else's comment that begins like ours is not ours.
export MARKER=$marker AUTHOR=${ASSAY_COMMENT_AUTHOR:-github-actions[bot]}
known=$(gh api --paginate "$where/${PULL:?}/comments?per_page=100" \
  --jq '.[] | select(.user.login == env.AUTHOR and (.body | startswith(env.MARKER))) | .id')
id=${known%%$'\n'*}
if [ -n "$id" ]; then
  [[ "$id" =~ ^[0-9]+$ ]] || exit 1
  gh api --silent --method PATCH "$where/comments/$id" --field "body=@$body"
else
  gh api --silent --method POST "$where/$PULL/comments" --field "body=@$body"
fi
