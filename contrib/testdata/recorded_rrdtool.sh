#!/bin/bash
# Stands as rrdtool before a program that draws with commands: times that are told from now are told from CLOCK. The command
# is written into a file of the folder RECORDED, each word ending in a zero byte, and is then run by the tool that RRDTOOL names.
args=() before=
for arg; do
  case $before in
  -s | -e | --start | --end)
    case $arg in
    N | now) arg=$CLOCK ;;
    -*[0-9] | -*s) arg=$((CLOCK - ${arg//[!0-9]/})) ;;
    +*) arg=$((CLOCK + ${arg//[!0-9]/})) ;;
    esac
    ;;
  esac
  before=$arg
  args+=("$arg")
done
n=$(find "$RECORDED" -type f | wc -l)
[ ${#args[@]} = 0 ] || printf '%s\0' "${args[@]}" >"$RECORDED/$(printf %06d "$n")"
exec "$RRDTOOL" "${args[@]}"
