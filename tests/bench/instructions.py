#!/usr/bin/env python3
"""instructions.py MCPTASK...: instructions per call on stdio, as a table with a
column for each program.

valgrind counts them, so other work on the machine changes nothing. Each count
is the median of ten calls, since the server also wakes up by itself. Tasks of
others are held by agents of a second server."""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

CALLS = 10
REVISION = '2025-11-25'


class Server:
    """A server on stdio; under valgrind, which counts, or not."""

    def __init__(self, program, store, counts):
        self.prefix = os.path.join(store, 'counts')
        command = [os.path.abspath(program)]
        if counts:
            command = ['valgrind', '-q', '--tool=callgrind',
                       '--callgrind-out-file=' + self.prefix] + command
        self.n = 0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=store,
            env={**os.environ, 'MCP_TASK_BASE_DIR': store})
        self.ask('initialize', {'protocolVersion': REVISION, 'capabilities': {},
                                'clientInfo': {'name': 'counter',
                                               'version': '1'}})
        self.put({'method': 'notifications/initialized'})

    def put(self, message):
        line = json.dumps({'jsonrpc': '2.0', **message}) + '\n'
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def get(self):
        """The result of the oldest request that is not answered."""
        answer = {}
        while 'id' not in answer:
            answer = json.loads(self.process.stdout.readline())
        if 'error' in answer:
            raise RuntimeError(answer['error']['message'])
        return answer['result']

    def send(self, method, params):
        self.n += 1
        self.put({'id': self.n, 'method': method, 'params': params})

    def ask(self, method, params):
        self.send(method, params)
        return self.get()

    def call(self, tool, **arguments):
        result = self.ask('tools/call', {'name': tool, 'arguments': arguments})
        if result.get('isError'):
            raise RuntimeError(f"{tool}: {result['content'][0]['text']}")
        return json.loads(result['content'][0]['text'])

    def signal(self, command):
        subprocess.run(['vgdb', f'--pid={self.process.pid}', command],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def count(self, act):
        """Instructions of act(i), which may return a function that prepares
        the next one. None: this version lacks the call."""
        totals = []
        try:
            after = act(0)
            for i in range(1, CALLS + 1):
                if callable(after):
                    after()
                self.signal('zero')
                after = act(i)
                self.signal('dump')
                [new] = glob.glob(self.prefix + '.*')
                with open(new, encoding='utf-8') as file:
                    totals += [int(line.split()[1]) for line in file
                               if line.startswith('totals:')]
                os.remove(new)
        except (KeyError, RuntimeError):
            return None
        if callable(after):
            after()
        return int(statistics.median(totals))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def fill(program, store, n, projects):
    """n open tasks; in blocks of projects, if there are some."""
    tasks = []
    for i in range(n):
        task = {'task_id': f't{i}', 'title': f'Task number {i}',
                'goal': 'Count what a call costs. ' * 4}
        if projects:
            task['repo_path'] = f'/work/{i * projects // n}'
        tasks.append(json.dumps(task))
    subprocess.run([os.path.abspath(program), 'import', '-'],
                   input='\n'.join(tasks).encode(), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, 'MCP_TASK_BASE_DIR': store})


def hold(server, n):
    """n tasks are held by agents of this server."""
    batch = 50
    for i in range(0, n, batch):
        for k in range(i, i + batch):
            server.send('tools/call', {
                'name': 'claim_task', 'arguments': {
                    'task_id': f't{k}', 'agent': f'other-{k % 100}',
                    'lease_seconds': 86400}})
        for k in range(batch):
            server.get()


def claim(server, **where):
    """A claim, and what ends the task so that nothing is held after it."""
    def act(_):
        task = server.call('claim_task', agent='worker', **where)
        return lambda: server.call('update_task', task_id=task['task_id'],
                                   agent='worker', status='done')
    return act


def claims(server, **where):
    """A claim by one who holds five tasks already."""
    def act(_):
        server.call('claim_task', agent='worker', **where)
    for i in range(5):
        act(i)
    return act


def each(server, size):
    yield 'ping', lambda i: server.ask('ping', {})
    yield 'create_task', lambda i: server.call(
        'create_task', task_id=f'new{i}', title='One task more', agent='me',
        goal='Count what a call costs. ' * 4)
    yield 'update_task', lambda i: server.call(
        'update_task', task_id=f't{size - 1}', agent='me', priority=2 + i % 2)
    yield 'save_checkpoint', lambda i: server.call(
        'save_checkpoint', task_id=f't{size - 2}', agent='me',
        completed_steps=[f'step {k}' for k in range(i)],
        remaining_steps=['more'], resume_prompt='Continue with the next step.')
    server.call('update_task', task_id=f't{size - 2}', agent='me',
                status='done')
    yield 'claim_task', claim(server)
    yield 'get_task', lambda i: server.call('get_task', task_id=f't{size - 9}')
    yield 'list_tasks', lambda i: server.call('list_tasks')
    yield 'claim_task, five held', claims(server)


def measure(program, size, held=0, projects=0):
    """Yields the names of rows and their counts."""
    with tempfile.TemporaryDirectory() as store:
        fill(program, store, size, projects)
        other = Server(program, store, False)
        hold(other, held)
        server = Server(program, store, True)
        if held:
            yield f'claim_task, others hold {held:,}', server.count(
                claim(server))
        elif projects:
            yield f'claim_task, the last of {projects} projects', server.count(
                claim(server, repo_path=f'/work/{projects - 1}'))
        else:
            for name, act in each(server, size):
                yield f'{name}, {size:,} tasks', server.count(act)
        server.end()
        other.end()


def main():
    programs = sys.argv[1:]
    rows = {}
    for program in programs:
        for scene in ({'size': 100}, {'size': 10000, 'held': 1000},
                      {'size': 10000, 'held': 5000},
                      {'size': 100000, 'projects': 20}, {'size': 100000}):
            for name, count in measure(program, **scene):
                rows.setdefault(name, {})[program] = count
                print(program, name, count, file=sys.stderr)
    print('| instructions per call |', ' | '.join(programs), '|')
    print('|---' * (len(programs) + 1) + '|')
    for name, counts in rows.items():
        print(f'| {name} |', ' | '.join(
            '-' if counts.get(p) is None else f'{counts[p]:,}'
            for p in programs), '|')


main()
