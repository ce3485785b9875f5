#!/bin/sh
#
# helper.sh -- a helper of the unit tests: its argument is what it does.

eval "$1"
