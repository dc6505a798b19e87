// kafkajs as a program with the contract of ../README.md. Node 18 or later.
'use strict';

const { parseArgs } = require('node:util');
const readline = require('node:readline');
const { Kafka, Partitioners, logLevel } = require('kafkajs');
const { version } = require('kafkajs/package.json');

const MAGIC = 0x52534c31;
const RETRY_MS = 1000; // the longest pause between attempts

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
  if (value === null || value.length < 21 || value.readInt32BE(0) !== MAGIC) return { producer: '', seq: -1 };
  const end = 21 + value.readInt8(20);
  return { producer: value.toString('utf8', 21, end), seq: Number(value.readBigInt64BE(12)) };
}

function connect(options, retry) {
  const brokers = options.bootstrap.split(',');
  return new Kafka({ clientId: 'matrix', brokers, retry, logLevel: logLevel.NOTHING }); // else a line for every refusal
}

// The name that a user of the library gets: the protocol's name of the error where there is one, else the class.
const named = (error) => (error ? error.type ?? error.name : '');

// Resolves when `ms` are over or `stopped` is resolved, whichever is first.
function waitFor(ms, stopped) {
  let timer;
  const over = new Promise((resolve) => { timer = setTimeout(resolve, ms); });
  return Promise.race([over, stopped]).finally(() => clearTimeout(timer));
}

async function produce(options) {
  const partitions = options.partitions.split(',').map(Number);
  const count = Number(options.records);
  const gapMs = Number(options.rate) ? 1000 / Number(options.rate) : 0;
  // The library has no time limit for a record, only a number of attempts, of which later ones are RETRY_MS apart.
  const retries = Math.max(1, Math.floor(Number(options['delivery-timeout-ms']) / RETRY_MS));
  const retry = { initialRetryTime: 200, maxRetryTime: RETRY_MS, factor: 0, retries };
  const producer = connect(options, retry).producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  report('started', { producer: options.producer, version, idempotence: false });

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
      const messages = [{ partition, value: payload(options.producer, seq, dueNs) }];
      const [sent] = await producer.send({ topic: options.topic, acks: -1, messages });
      line.offset = BigInt(sent.baseOffset);
    } catch (error) {
      line.result = named(error);
      line.cause = named(error.cause);
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
  await producer.disconnect();
}

async function read(options) {
  const kafka = connect(options, { retries: 10 });
  const admin = kafka.admin();
  await admin.connect();
  const cluster = await admin.describeCluster();
  const { topics } = await admin.fetchTopicMetadata({ topics: [options.topic] });
  await admin.disconnect();
  const partitions = topics[0].partitions.map((p) => ({ partition: p.partitionId, leader: p.leader, replicas: p.replicas }));
  report('metadata', { brokers: cluster.brokers.map((b) => b.nodeId), partitions });

  // The library reads in a group only.
  const consumer = kafka.consumer({ groupId: `read-${options.topic}` });
  await consumer.connect();
  await consumer.subscribe({ topics: [options.topic], fromBeginning: true });
  const wanted = Number(options.records);
  let records = 0;
  let last = performance.now();
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      report('read', { partition, offset: BigInt(message.offset), ...author(message.value) });
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
  await consumer.disconnect();
}

const text = { type: 'string' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bootstrap: text, topic: text, producer: text, records: text, rate: { ...text, default: '0' },
    partitions: { ...text, default: '0' }, 'delivery-timeout-ms': { ...text, default: '60000' },
    'idle-seconds': { ...text, default: '30' },
  },
});
const verb = { produce, read }[positionals[0]];
if (!verb || !values.bootstrap || !values.topic || !values.records) {
  process.stderr.write('usage: client.js produce|read --bootstrap B --topic T --records N ...; see README.md\n');
  process.exit(2);
}
verb(values).then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`kafkajs client failed: ${error.stack}\n`);
    process.exit(1);
  },
);
