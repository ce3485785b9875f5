// Makes dist/ of src/: one script, one style sheet, one document, one icon.  The
// same sources give the same bytes.
import { build } from 'esbuild';
import { copyFile, mkdir } from 'node:fs/promises';

await mkdir('dist', { recursive: true });
await build({
	entryPoints: { app: 'src/main.jsx' },
	outdir: 'dist',
	bundle: true,
	minify: true,
	charset: 'utf8',
	format: 'iife',
	target: ['es2022'],
	jsx: 'automatic',
	jsxImportSource: 'preact',
	legalComments: 'none',
	logLevel: 'warning',
	banner: { js: '/* twtasks; contains Preact (MIT License, Copyright (c) 2015-present Jason Miller) */' },
});
await copyFile('src/index.html', 'dist/index.html');
await copyFile('src/icon.svg', 'dist/icon.svg');
