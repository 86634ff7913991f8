/* A model that needs no account: it speaks the streaming APIs of Anthropic
   (Messages), OpenAI (Responses) and Google (generateContent), and does what
   the user's prompt says. The prompt holds a script, a JSON array after the
   word SCRIPT, of steps

     {"tool": NAME, "args": {...}}

   The model calls one tool after the other, by whatever name the client offers
   it, and ends with the results of all as one JSON array of texts. "$0.task_id"
   in an argument is that member of the first result, and "$name" the name that
   a hook told the model. At the step {"stay": true}
   it does not answer: the client stays as it is until somebody ends it. It
   keeps nothing between requests: the conversation says where it is. */

import {createServer} from 'node:http';

const script_of = text => {
    const at = text.lastIndexOf('SCRIPT ');

    if (at < 0)
        return null;
    let depth = 0, quoted = false;

    const from = text.indexOf('[', at);
    for (let i = from; i < text.length; i++) {
        const c = text[i];

        if (quoted)
            c === '\\' ? i++ : quoted = c !== '"';
        else if (c === '"')
            quoted = true;
        else if (c === '[')
            depth++;
        else if (c === ']' && --depth === 0)
            return JSON.parse(text.slice(from, i + 1));
    }
    return null;
};

/* The JSON object in a result, around which clients write words of their own;
   or the text. */
export const json_of = text => {
    const from = text.indexOf('{'), to = text.lastIndexOf('}');

    try {
        return JSON.parse(text.slice(from, to + 1));
    } catch {
        return text;
    }
};

/* Puts members of earlier results where arguments name them. */
const filled = (value, results, said) => {
    if (value === '$name')
        return /Your name in mcptask is ([^ ]+)\./.exec(said)?.[1];
    if (typeof value === 'string') {
        const m = /^\$(\d+)((?:\.\w+)+)$/.exec(value);

        if (!m)
            return value;
        return m[2].slice(1).split('.').reduce(
            (o, name) => o?.[name], json_of(results[m[1]]));
    }
    if (Array.isArray(value))
        return value.map(v => filled(v, results, said));
    if (value && typeof value === 'object')
        return Object.fromEntries(Object.entries(value).map(
            ([k, v]) => [k, filled(v, results, said)]));
    return value;
};

/* The next step of a conversation: {call, args}, {text} or {stay}. */
const next = (prompt, results, names, body) => {
    const script = script_of(prompt);

    if (!script)
        return {text: 'ok'};
    if (results.length >= script.length)
        return {text: 'RESULTS ' + JSON.stringify(results)};
    const step = script[results.length];

    if (step.stay)
        return {stay: true};
    const name = names.find(n => n === step.tool) ??
                 names.find(n => n.endsWith('__' + step.tool)) ??
                 names.find(n => n.endsWith('_' + step.tool));

    return name ? {call: name, args: filled(step.args ?? {}, results,
                                             JSON.stringify(body))}
                : {text: `NO TOOL ${step.tool} IN ${names.join(' ')}`};
};

const text_of = content =>
    typeof content === 'string' ? content
    : Array.isArray(content)
        ? content.map(c => c.text ?? (c.content ? text_of(c.content) : ''))
            .join('')
    : content === undefined || content === null ? ''
    : JSON.stringify(content);

/* ---- Anthropic ---- */

const anthropic = (body, send) => {
    let prompt = '', results = [];

    for (const m of body.messages)
        for (const c of Array.isArray(m.content)
             ? m.content : [{type: 'text', text: m.content}]) {
            if (c.type === 'text' && m.role === 'user' &&
                c.text.includes('SCRIPT ')) {
                prompt = c.text;
                results = [];
            }
            if (c.type === 'tool_result')
                results.push(text_of(c.content));
        }
    const step = next(prompt, results, (body.tools ?? []).map(t => t.name),
                      body);

    if (step.stay)
        return send.stay(results);
    const block = step.call
        ? {type: 'tool_use', id: `toolu_${Date.now()}_${results.length}`,
           name: step.call, input: {}}
        : {type: 'text', text: ''};
    const delta = step.call
        ? {type: 'input_json_delta', partial_json: JSON.stringify(step.args)}
        : {type: 'text_delta', text: step.text};
    const message = {
        id: `msg_${Date.now()}`, type: 'message', role: 'assistant',
        model: body.model, content: [], stop_reason: null,
        stop_sequence: null, usage: {input_tokens: 1, output_tokens: 1},
    };
    const stop_reason = step.call ? 'tool_use' : 'end_turn';

    if (!body.stream)
        return send.json({...message, stop_reason, content: [step.call
            ? {...block, input: step.args} : {...block, text: step.text}]});
    send.event('message_start', {type: 'message_start', message});
    send.event('content_block_start',
               {type: 'content_block_start', index: 0, content_block: block});
    send.event('content_block_delta',
               {type: 'content_block_delta', index: 0, delta});
    send.event('content_block_stop', {type: 'content_block_stop', index: 0});
    send.event('message_delta', {type: 'message_delta',
        delta: {stop_reason, stop_sequence: null}, usage: {output_tokens: 1}});
    send.event('message_stop', {type: 'message_stop'});
    send.end();
};

/* ---- OpenAI ---- */

const openai = (body, send) => {
    let prompt = '', results = [];

    for (const item of body.input) {
        if (item.type === 'message' && item.role === 'user' &&
            text_of(item.content).includes('SCRIPT ')) {
            prompt = text_of(item.content);
            results = [];
        }
        if (item.type === 'function_call_output')
            results.push(text_of(item.output));
    }
    const names = (body.tools ?? []).flatMap(t =>
        t.type === 'namespace' ? t.tools.map(u => `${t.name}\t${u.name}`)
                               : [t.name]).filter(Boolean);
    const step = next(prompt, results, names.map(n => n.replace('\t', '__')),
                      body);

    if (step.stay)
        return send.stay(results);
    const id = `resp_${Date.now()}`;
    const full = names.find(n => n.replace('\t', '__') === step.call);
    const item = step.call
        ? {type: 'function_call', id: `fc_${results.length}`,
           call_id: `call_${results.length}`,
           ...(full.includes('\t') && {namespace: full.split('\t')[0]}),
           name: full.split('\t').pop(),
           arguments: JSON.stringify(step.args)}
        : {type: 'message', id: 'm_0', role: 'assistant',
           content: [{type: 'output_text', text: step.text}]};

    send.event('response.created',
               {type: 'response.created', response: {id}});
    send.event('response.output_item.done',
               {type: 'response.output_item.done', output_index: 0, item});
    send.event('response.completed', {
        type: 'response.completed',
        response: {id, output: [item], usage: {
            input_tokens: 1, input_tokens_details: null, output_tokens: 1,
            output_tokens_details: null, total_tokens: 2}},
    });
    send.end();
};

/* ---- Google ---- */

const google = (body, send) => {
    let prompt = '', results = [];

    for (const c of body.contents)
        for (const p of c.parts) {
            if (p.text && c.role === 'user' && p.text.includes('SCRIPT ')) {
                prompt = p.text;
                results = [];
            }
            if (p.functionResponse) {
                const r = p.functionResponse.response;

                results.push(text_of(r.output ?? r.content ?? r));
            }
        }
    const names = (body.tools ?? []).flatMap(
        t => (t.functionDeclarations ?? []).map(f => f.name));
    const step = next(prompt, results, names, body);

    if (step.stay)
        return send.stay(results);

    send.data({
        candidates: [{index: 0, finishReason: 'STOP', content: {
            role: 'model', parts: [step.call
                ? {functionCall: {name: step.call, args: step.args}}
                : {text: step.text}]}}],
        usageMetadata: {promptTokenCount: 1, candidatesTokenCount: 1,
                        totalTokenCount: 2},
    });
    send.end();
};

/* Tells whoever waits for it that a client has come to {"stay": true}. */
const stayers = [];
const staying = [];
const stay = results => {
    const waiter = stayers.shift();

    waiter ? waiter(results.map(json_of)) : staying.push(results.map(json_of));
};

const sender = (res, stream) => {
    let begun = false;

    const begin = () => {
        if (!begun)
            res.writeHead(200, {'content-type': 'text/event-stream'});
        begun = true;
    };
    return {
        json: o => {
            res.writeHead(200, {'content-type': 'application/json'});
            res.end(JSON.stringify(o));
        },
        event: (name, o) => {
            begin();
            res.write(`event: ${name}\ndata: ${JSON.stringify(o)}\n\n`);
        },
        data: o => {
            if (!stream)
                return res.end(JSON.stringify(o));
            begin();
            res.write(`data: ${JSON.stringify(o)}\n\n`);
        },
        end: () => res.end(),
        stay,
    };
};

/* Starts the model on a free port. Resolves to {url, seen, stays, close}; seen
   holds the body of each request, and stays() resolves to the results of the
   next client that stays. */
export const start_model = async () => {
    const seen = [];
    const server = createServer(async (req, res) => {
        let text = '';

        for await (const chunk of req)
            text += chunk;
        const path = req.url.split('?')[0];
        let body = {};

        try {
            body = JSON.parse(text || '{}');
        } catch {
            /* compressed, or none of ours */
        }
        seen.push({path, body});
        if (process.env.MODEL_LOG)
            console.error(req.method, req.url, text.length);
        try {
            if (path.endsWith('/messages'))
                anthropic(body, sender(res));
            else if (path.endsWith('/responses'))
                openai(body, sender(res));
            else if (/:(stream)?generateContent$/i.test(path))
                google(body, sender(res, path.includes('stream')));
            else if (path.endsWith('/count_tokens') ||
                     path.endsWith(':countTokens'))
                sender(res).json({input_tokens: 1, totalTokens: 1});
            else {
                res.writeHead(404);
                res.end('{}');
            }
        } catch (e) {
            console.error('model:', e);
            res.writeHead(500);
            res.end('{}');
        }
    });

    await new Promise(done => server.listen(0, '127.0.0.1', done));
    return {
        url: `http://127.0.0.1:${server.address().port}`, seen,
        stays: () => staying.length > 0 ? Promise.resolve(staying.shift())
            : new Promise(done => stayers.push(done)),
        close: () => new Promise(done => {
            server.closeAllConnections();
            server.close(done);
        }),
    };
};
