// @platformatic/kafka behind client.js.
'use strict';

const { version } = require('./node_modules/@platformatic/kafka/package.json'); // which it does not export

const library = import('@platformatic/kafka'); // an ES module

const base = (options) => ({ clientId: 'matrix', bootstrapBrokers: options.bootstrap.split(',') });

// The name that a user of the library gets: the protocol's name of the last error where there is one, else the code.
function named(error) {
  const last = (e) => (e?.errors?.length ? last(e.errors.at(-1)) : e);
  const found = last(error);
  return { result: error.code ?? error.name, cause: found === error ? '' : found.apiId ?? found.code ?? found.name };
}

async function producer(options) {
  const { Producer } = await library;
  // The library has no time limit for a record, only a number of attempts, which are one retryDelay (1 s) apart.
  const retries = Math.max(1, Math.floor(Number(options['delivery-timeout-ms']) / 1000));
  const made = new Producer({ ...base(options), ...(options.retries ? {} : { retries }) });
  await made.metadata({ topics: [options.topic] });
  return {
    idempotent: false,
    async send(partition, value) {
      const messages = [{ topic: options.topic, partition, value }];
      const { offsets } = await made.send({ messages, acks: -1 }); // by default it waits for the leader alone
      return offsets[0].offset;
    },
    close: () => made.close(),
  };
}

async function reader(options, found) {
  const { Consumer } = await library;
  const consumer = new Consumer({ ...base(options), groupId: `read-${options.topic}` });
  const cluster = await consumer.metadata({ topics: [options.topic] });
  const partitions = [...cluster.topics.get(options.topic).partitions.values()];
  found.metadata(
    [...cluster.brokers.keys()],
    partitions.map((p, partition) => ({ partition, leader: p.leader, replicas: p.replicas })),
  );
  // The library reads in a group only.
  const stream = await consumer.consume({ topics: [options.topic], mode: 'earliest', autocommit: false });
  stream.on('data', (message) => found.record(message.partition, message.offset, message.value));
  return () => consumer.close(true);
}

module.exports = { version, named, producer, reader };
