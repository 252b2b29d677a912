#!/bin/sh
# A toy agent: it can do what AGENTS.md in its workspace tells it about, and nothing else.
prompt=$(cat)
can() { grep -q "$1" AGENTS.md; }
case $prompt in
*hem.py*) can hem && sed 's/-/+/' hem.py > new && cat new > hem.py && rm new ;;
*pattern.txt*) can knit && printf 'knit\npurl\nknit\n' > pattern.txt ;;
*old.txt*) can purl && mv old.txt new.txt ;;
*wheel.json*) can spin && echo '{"speed": 3}' > wheel.json ;;
*scarf.txt*) can weave && echo blue >> scarf.txt ;;
esac
echo '{"tokens": 1000, "tool_calls": 2, "steps": 2, "usd": 0.01}' > "$ASSAY_RESULT_DIR/cost.json"
