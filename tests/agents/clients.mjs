/* Coding agents as people run them, without a person: each runs one prompt with
   the mcptask server as its own command writes it into its configuration.
   tests/clients.sh installs them. A file of tests that imports this has a model
   for all of its tests, and each test a home with a project and a store. */

import {execFileSync, spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync}
    from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, beforeEach} from 'node:test';
import {json_of, start_model} from './model.mjs';

const bin_dir = process.env.CLIENTS ?? new URL(
    '../../build/clients/node_modules/.bin', import.meta.url).pathname;
export const mcptask = process.env.MCPTASK ??
    new URL('../../mcptask', import.meta.url).pathname;

export let model, home;
const homes = [];

before(async () => {
    model = await start_model();
});
beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'mcptask-agents-'));
    homes.push(home);
    for (const dir of ['.claude', '.codex', '.gemini', 'project'])
        mkdirSync(join(home, dir));
});
after(async () => {
    await model.close();
    for (const dir of homes)
        rmSync(dir, {recursive: true, force: true});
});

/* A step of model.mjs: this tool is called. */
export const call = (tool, args = {}) => ({tool, args});

/* The command line in the same store. */
export const shell = words => execFileSync(mcptask, words, {
    encoding: 'utf8', cwd: join(home, 'project'),
    env: {PATH: process.env.PATH, HOME: home, USER: 'anna', LOGNAME: 'anna',
          MCP_TASK_BASE_DIR: join(home, 'store')}});

const env_of = extra => ({
    PATH: `${bin_dir}:${process.env.PATH}`, HOME: home, TERM: 'dumb',
    MCP_TASK_BASE_DIR: join(home, 'store'), ...extra,
});

/* How each client runs a prompt: its files, words and environment. */
const kinds = {
    'claude-code': url => {
        const file = join(home, 'mcp.json');

        writeFileSync(file, JSON.stringify({mcpServers: {mcptask: {
            command: mcptask, args: [],
            env: {MCP_TASK_BASE_DIR: join(home, 'store')}}}}));
        return {
            words: prompt => ['claude', '-p', prompt, '--mcp-config', file,
                '--strict-mcp-config', '--model', 'claude-sonnet-4-5',
                '--allowedTools', 'mcp__mcptask'],
            env: {ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-none',
                  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
                  DISABLE_AUTOUPDATER: '1', ENABLE_TOOL_SEARCH: 'false'},
        };
    },
    codex: url => {
        writeFileSync(join(home, '.codex/config.toml'), [
            'model = "gpt-5"', 'model_provider = "script"',
            'approval_policy = "never"', 'sandbox_mode = "read-only"',
            '[model_providers.script]', 'name = "script"',
            `base_url = "${url}/v1"`, 'wire_api = "responses"',
            'env_key = "SCRIPT_KEY"',
            '[mcp_servers.mcptask]', `command = "${mcptask}"`, 'args = []',
            `env = { MCP_TASK_BASE_DIR = "${join(home, 'store')}" }`, '',
        ].join('\n'));
        return {
            words: prompt => ['codex', 'exec', '--skip-git-repo-check',
                '--dangerously-bypass-approvals-and-sandbox', prompt],
            env: {SCRIPT_KEY: 'none'},
        };
    },
    gemini: url => {
        writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify({
            security: {auth: {selectedType: 'gemini-api-key'}},
            telemetry: {enabled: false},
            mcpServers: {mcptask: {command: mcptask, args: [], trust: true,
                env: {MCP_TASK_BASE_DIR: join(home, 'store')}}}}));
        return {
            words: prompt => ['gemini', '-p', prompt, '-y', '-m',
                              'gemini-2.5-flash'],
            env: {GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url,
                  GEMINI_CLI_TRUST_WORKSPACE: 'true',
                  GEMINI_CLI_NO_RELAUNCH: 'true'},
        };
    },
};

/* Puts the hooks that setup prints where it says. */
const add_hooks = kind => {
    const {settings, where} = JSON.parse(execFileSync(
        mcptask, ['setup', kind, '--hooks', '--json'],
        {encoding: 'utf8', env: env_of()}));
    const file = join(home, /^~\/([^;]+)/.exec(where)[1]);
    let before = {};

    try {
        before = JSON.parse(readFileSync(file));
    } catch {
        /* there is none */
    }
    writeFileSync(file, JSON.stringify({...before, ...JSON.parse(settings)}));
};

/* The words and the environment that run a client with steps of model.mjs.
   options.hooks: with hooks, which Codex would ask a person about;
   options.words: with more words. */
export const command_of = (kind, steps, options = {}) => {
    const {words, env} = kinds[kind](model.url);
    const [program, ...args] = words(`SCRIPT ${JSON.stringify(steps)}`);

    if (options.hooks) {
        add_hooks(kind);
        if (kind === 'codex')
            args.splice(1, 0, '--dangerously-bypass-hook-trust');
    }
    return {words: [program, ...args, ...options.words ?? []],
            env: env_of({...env, ...options.env})};
};

/* Starts a client with steps of model.mjs. Returns {child, results}: results
   resolves to what the tools answered, parsed, or to an error with what the
   client said. */
export const start_client = (kind, steps, options = {}) => {
    const {words: [program, ...args], env} = command_of(kind, steps, options);
    const child = spawn(program, args, {
        cwd: options.cwd ?? join(home, 'project'), env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
    });
    let said = '', complained = '';

    child.stdout.on('data', d => said += d);
    child.stderr.on('data', d => complained += d);
    const late = setTimeout(() => end_client(child), options.timeout ?? 90_000);
    const results = new Promise((done, fail) => child.on('close', () => {
        clearTimeout(late);
        const at = said.lastIndexOf('RESULTS ');

        if (at >= 0)
            done(JSON.parse(said.slice(at + 8).split('\n')[0]).map(json_of));
        else
            fail(new Error(`${kind} gave no results:\n${said}${complained}`));
    }));

    results.catch(() => {}); /* of one that is ended nobody asks */
    return {child, results};
};

export const run_client = (...all) => start_client(...all).results;

/* One session of Claude Code that is given several prompts, commands such as
   /clear among them, each once the one before has its answer. A function among
   them is called, and has to make the client begin a turn. */
export const talk_to_claude = prompts => {
    const {words, env} = kinds['claude-code'](model.url);
    const args = words('').slice(3);

    add_hooks('claude-code');
    const child = spawn('claude', ['-p', '--input-format', 'stream-json',
        '--output-format', 'stream-json', '--verbose', ...args, 'Bash'], {
        cwd: join(home, 'project'), env: env_of(env),
        stdio: ['pipe', 'pipe', 'ignore'],
    });
    const left = [...prompts];
    const late = setTimeout(() => child.kill('SIGKILL'), 90_000);
    let line = '';

    const say = () => {
        const next = left.shift();

        if (next === undefined)
            child.stdin.end();
        else if (typeof next === 'function')
            next();
        else
            child.stdin.write(JSON.stringify({type: 'user',
                message: {role: 'user', content: next}}) + '\n');
    };
    child.stdout.on('data', d => {
        const lines = (line + d).split('\n');

        line = lines.pop();
        for (const l of lines)
            if (JSON.parse(l).type === 'result')
                say();
    });
    say();
    return new Promise(done => child.on('close', () => {
        clearTimeout(late);
        done();
    }));
};

/* Ends a client with kill -9. Its server sees the end of its input. */
export const end_client = child => new Promise(done => {
    if (child.exitCode !== null || child.signalCode !== null)
        return done();
    child.on('exit', done);
    process.kill(-child.pid, 'SIGKILL');
});
