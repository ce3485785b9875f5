#!/usr/bin/env bash
#
# Third-party code that is built into what we ship is in web/ui/package.json alone, in exact
# versions; the lock file has the checksum of each package that npm may load.

. "$(dirname "$0")/lib.bash"
need node

# not_exact FILE -- dependencies that may change without a change of the file
not_exact()
{
	node -e '
		const file = process.argv[1], {dependencies = {}, devDependencies = {}} = require("./" + file);
		for (const [name, version] of Object.entries({...dependencies, ...devDependencies}))
			if (!/^\d+\.\d+\.\d+$/.test(version))
				console.log(`${file}:1: ${name} has no exact version: ${version}`);' "$1"
}

# unchecked FILE -- packages of a lock file without a version or a checksum
unchecked()
{
	node -e '
		const file = process.argv[1];
		for (const [name, {version, integrity = ""}] of Object.entries(require("./" + file).packages))
			if (name && !(version && integrity.startsWith("sha512-")))
				console.log(`${file}:1: ${name} has no version or no checksum`);' "$1"
}

{
	not_exact web/ui/package.json
	unchecked web/ui/package-lock.json
	files "${product[@]}" helpers extensions share -- '*.min.js' '*.min.css' '*.jar' '*.whl' '*.tgz' '*.tar.*' '*.zip' |
		grep -vE '/(node_modules|target)/' | sed 's/$/:1: code of others is not copied into this project/' || true
	files "${product[@]}" helpers extensions -- '*.c' '*.h' '*.py' '*.js' '*.sql' '*.go' '*.rb' '*.java' |
		matches 'Copyright|SPDX-License-Identifier' | grep -vE '/(node_modules|target)/' |
		sed -E 's/^([^:]+:[0-9]+):.*/\1: code of others is not copied into this project/' || true
} | breaches
