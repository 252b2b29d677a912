#!/bin/sh
# Keeps what a hook is told until `assay` reads it: a file for each event, there whole or not at all.
# It says nothing, asks nobody and never fails: whatever goes wrong, the event is dropped and the agent goes on.
exec >/dev/null 2>&1
umask 077
home=${XDG_STATE_HOME:-${HOME:+$HOME/.local/state}}
spool=$home/assay/spool
[ -n "$home" ] && { [ -d "$spool" ] || mkdir -p "$spool"; } && [ ! -e "$spool/full" ] || exit 0
n=0 # a process id comes again: what was kept under it may not have been read yet
while [ -e "$spool/$$-$n.$1" ]; do n=$((n + 1)); done
part=$spool/.$$-$n
if [ $# -gt 1 ]; then # Codex gives it as an argument
  printf '%s' "$2" >"$part"
else
  head -c 65536 >"$part"
fi && [ -s "$part" ] && mv "$part" "$spool/$$-$n.$1" || rm -f "$part"
case $1 in
PostToolUse*) ;;
SessionEnd) [ ! -x "$home/assay/deliver" ] || ("$home/assay/deliver" &) ;;
*)
  set -- "$spool"/*
  [ $# -lt 20000 ] || : >"$spool/full"
  ;;
esac
exit 0
