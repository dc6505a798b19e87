// A Node library as a program with the contract of ../README.md; --client names the library. Node 18 or later.
'use strict';

const { parseArgs } = require('node:util');
const readline = require('node:readline');

const MAGIC = 0x52534c31;
const LIBRARIES = { kafkajs: './kafkajs.js', platformatic: './platformatic.js' };

const nowNs = () => BigInt(Date.now()) * 1000000n;

// Prints one line; integers that do not fit into a double stay exact.
function report(event, fields) {
  const parts = Object.entries({ event, ...fields }).map(
    ([key, value]) => `${JSON.stringify(key)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`,
  );
  process.stdout.write(`{${parts.join(',')}}\n`);
}

function payload(producer, seq, dueNs) {
  const name = Buffer.from(producer);
  const head = Buffer.alloc(Math.max(100, 21 + name.length));
  head.writeInt32BE(MAGIC, 0);
  head.writeBigInt64BE(dueNs, 4);
  head.writeBigInt64BE(BigInt(seq), 12);
  head.writeInt8(name.length, 20);
  name.copy(head, 21);
  return head;
}

function author(value) {
  if (!value || value.length < 21 || value.readInt32BE(0) !== MAGIC) return { producer: '', seq: -1 };
  const end = 21 + value.readInt8(20);
  return { producer: value.toString('utf8', 21, end), seq: Number(value.readBigInt64BE(12)) };
}

// Resolves when `ms` are over or `stopped` is resolved, whichever is first.
function waitFor(ms, stopped) {
  let timer;
  const over = new Promise((resolve) => { timer = setTimeout(resolve, ms); });
  return Promise.race([over, stopped]).finally(() => clearTimeout(timer));
}

async function produce(library, options) {
  const partitions = options.partitions.split(',').map(Number);
  const count = Number(options.records);
  const gapMs = Number(options.rate) ? 1000 / Number(options.rate) : 0;
  const client = await library.producer(options);
  report('started', { producer: options.producer, version: library.version, idempotence: client.idempotent });

  let stop = false;
  const stopped = new Promise((resolve) => {
    const lines = readline.createInterface({ input: process.stdin });
    const end = () => { stop = true; resolve(); };
    lines.on('line', (line) => { if (line.trim() === 'stop') end(); });
    lines.on('close', end);
  });
  const begin = { ms: performance.now(), ns: nowNs(), monoNs: process.hrtime.bigint() };
  const answers = [];

  async function send(seq) {
    const dueIn = BigInt(Math.round(seq * gapMs * 1e6));
    const dueNs = begin.ns + dueIn;
    const partition = partitions[seq % partitions.length];
    const line = {
      producer: options.producer, seq, topic: options.topic, partition, offset: -1,
      due_ns: dueNs, sent_ns: nowNs(), done_ns: 0n, due_mono_ns: begin.monoNs + dueIn,
      result: 'OK', cause: '',
    };
    try {
      line.offset = await client.send(partition, payload(options.producer, seq, dueNs));
    } catch (error) {
      Object.assign(line, library.named(error));
    }
    line.done_ns = nowNs();
    report('record', line);
  }

  for (let seq = 0; seq < count && !stop; seq += 1) {
    const wait = begin.ms + seq * gapMs - performance.now();
    if (wait > 0) await waitFor(wait, stopped);
    if (!stop) answers.push(send(seq));
  }
  await Promise.all(answers);
  report('summary', { producer: options.producer, records: answers.length });
  await client.close();
}

// Reads from the beginning: until all is there, or nothing came for some seconds.
async function read(library, options) {
  const wanted = Number(options.records);
  let records = 0;
  let last = performance.now();
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  const close = await library.reader(options, {
    metadata: (brokers, partitions) => report('metadata', { brokers, partitions }),
    record: (partition, offset, value) => {
      report('read', { partition, offset, ...author(value) });
      records += 1;
      last = performance.now();
      if (records >= wanted) finish();
    },
  });
  const idle = setInterval(() => {
    if (performance.now() - last > Number(options['idle-seconds']) * 1000) finish();
  }, 200);
  if (wanted === 0) finish();
  await finished;
  clearInterval(idle);
  report('summary', { records });
  await close();
}

const text = { type: 'string' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    client: text, bootstrap: text, topic: text, producer: text, records: text, rate: { ...text, default: '0' },
    partitions: { ...text, default: '0' }, 'delivery-timeout-ms': { ...text, default: '60000' },
    'idle-seconds': { ...text, default: '30' }, retries: text,
  },
});
const verb = { produce, read }[positionals[0]];
const wrong = !verb || !LIBRARIES[values.client] || !values.bootstrap || !values.topic || !values.records;
if (wrong || (values.retries && values.retries !== 'library')) {
  process.stderr.write(
    'usage: client.js produce|read --client kafkajs|platformatic --bootstrap B --topic T --records N ...; see README.md\n',
  );
  process.exit(2);
}
verb(require(LIBRARIES[values.client]), values).then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${values.client} client failed: ${error.stack}\n`);
    process.exit(1);
  },
);
