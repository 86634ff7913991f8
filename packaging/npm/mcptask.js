#!/usr/bin/env node
/* Starts the program for this platform, which has a package of its own. It has
   the terminal or the pipes to itself; signals go in, and its exit code or the
   signal that ended it comes out. */
'use strict';

const { spawn } = require('child_process');
const { constants } = require('os');
const { optionalDependencies } = require('./package.json');

/* A shell says 127 as well if there is no program. */
function fail(text) {
  process.stderr.write(`mcptask: ${text}\n`);
  process.exit(127);
}

function program() {
  const platform = `${process.platform}-${process.arch}`;
  const name = `@mcptask/${platform}`;
  const names = Object.keys(optionalDependencies);
  if (!names.includes(name)) {
    fail(`there is no package for ${platform}, only `
      + names.map((known) => known.slice('@mcptask/'.length)).join(', '));
  }
  try {
    return require.resolve(`${name}/mcptask`);
  } catch (error) {
    return fail(`the package ${name} is missing; `
      + 'install mcptask again with --include=optional');
  }
}

/* They are passed on from before the program runs, so that none is lost. */
let child;
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']) {
  process.on(signal, () => child.kill(signal));
}
child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(error.message));
child.on('exit', (code, signal) => {
  if (signal !== null) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    code = 128 + constants.signals[signal];
  }
  process.exit(code);
});
