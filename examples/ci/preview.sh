#!/bin/sh
# A preview of the change that CI has checked out: comment.md, preview.html and preview.json in the current folder.
#
# BASE    branch or commit that the change goes into, like origin/main
# HEAD    commit of the change
# GRAINS  file: minion -> its grains (saltern run '*' grains.items --out json > grains.json)
# ROOTS   where states and pillar are, as options of `saltern preview`
#
# Exits 0 whether or not something would change, and 1 when something has to be mended before a merge.
set -eu
: "${BASE:?}" "${HEAD:=HEAD}" "${GRAINS:=grains.json}" "${ROOTS:=--file-root salt --pillar-root pillar}"

code=0
# shellcheck disable=SC2086  # ROOTS are several words
saltern preview --local --base "$BASE" --head "$HEAD" --merge --restricted --grains "$GRAINS" $ROOTS \
    --save comment.md --save preview.html --save preview.json || code=$?

case $code in
0 | 2) exit 0 ;; # nothing would change, or something would
*) exit "$code" ;;
esac
