# count.awk -- counts the results in what a test runner wrote.
#
# Reads the output of prove -v, or of pg_regress of any version.  Prints
# "passed failed skipped"; to the file named by skips, one line per skip: the
# test file, or the test's name where no file was announced, a tab, the reason.
# To the file named by failures, one line per failure: the file, if one was
# announced, and the test's name, or the last words of a file that broke off, or its
# last test.
#
# A file that broke off before or after its tests is one failure more.

# Comments, such as the output of other runners
/^# died: / { last[file] = died = $0 }
/^#/ { next }

# prove -v announces a file: "t/010_end_to_end.pl .. ".  Its comments may come before.
/^[^ ]+ \.\.+ *$/ { file = $1; last[file] = died; died = ""; next }

# A file that was skipped as a whole has its reason behind its name.
/^[^ ]+ \.\.+ skipped: / { file = $1; sub(/^.* skipped:/, "# SKIP"); skip($0); next }

/^ok [0-9]/ && /# *[Ss][Kk][Ii][Pp]/ { skip($0); next }
/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { skip($0); next }
/^not ok [0-9].*# *TOD[O]/ { passed++; next }
/^ok [0-9]/ { passed++; seen[file] = $0; next }
/^not ok [0-9]/ { fail(file, $0); next }

# pg_regress before version 16
/ \.\.\. +ok( |$)/ { passed++; next }
/ \.\.\. +FAILED/ { fail(file, $0); next }

# prove's report on files
/^Dubious, |^Test Summary Report/ { file = ""; next }
/ \(Wstat: .*Failed: [0-9]+\)/ { name = $1; next }
/^  Parse errors: Bad plan/ && !bad[name] { fail(name, $0) }
/^  (Parse errors|Non-zero (exit|wait) status):/ && !bad[name] { fail(name, "broke off: " (last[name] != "" ? last[name] : seen[name])) }

/[^ ]/ { last[file] = $0 }

function fail(where, what)
{
	failed++
	bad[where] = 1
	sub(/^(not ok [0-9]+ *-?)? */, "", what)
	if (failures != "")
		print (where != "" ? where ": " : "") what >failures
}

function skip(line,   name)
{
	skipped++
	name = line
	sub(/^.*ok [0-9]+ *-? */, "", name)
	sub(/ *#.*/, "", name)
	sub(/^.*# *[Ss][Kk][Ii][Pp][^ ]* */, "", line)
	if (skips != "")
		printf "%s\t%s\n", file != "" ? file : name, line >skips
}

END { print passed + 0, failed + 0, skipped + 0 }
