// KafkaJS behind client.js.
'use strict';

const { Kafka, Partitioners, logLevel } = require('kafkajs');
const { version } = require('kafkajs/package.json');

const RETRY_MS = 1000; // the longest pause between attempts

function connect(options, retry) {
  const brokers = options.bootstrap.split(',');
  return new Kafka({ clientId: 'matrix', brokers, retry, logLevel: logLevel.NOTHING }); // else a line for every refusal
}

// The name that a user of the library gets: the protocol's name of the error where there is one, else the class.
const name = (error) => (error ? error.type ?? error.name : '');
const named = (error) => ({ result: name(error), cause: name(error.cause) });

async function producer(options) {
  // The library has no time limit for a record, only a number of attempts, of which later ones are RETRY_MS apart.
  const retries = Math.max(1, Math.floor(Number(options['delivery-timeout-ms']) / RETRY_MS));
  const retry = options.retries ? undefined : { initialRetryTime: 200, maxRetryTime: RETRY_MS, factor: 0, retries };
  const made = connect(options, retry).producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await made.connect();
  return {
    idempotent: false,
    async send(partition, value) {
      const [sent] = await made.send({ topic: options.topic, acks: -1, messages: [{ partition, value }] });
      return BigInt(sent.baseOffset);
    },
    close: () => made.disconnect(),
  };
}

async function reader(options, found) {
  const kafka = connect(options, { retries: 10 });
  const admin = kafka.admin();
  await admin.connect();
  const cluster = await admin.describeCluster();
  const { topics } = await admin.fetchTopicMetadata({ topics: [options.topic] });
  await admin.disconnect();
  const partitions = topics[0].partitions.map((p) => ({ partition: p.partitionId, leader: p.leader, replicas: p.replicas }));
  found.metadata(cluster.brokers.map((b) => b.nodeId), partitions);

  // The library reads in a group only.
  const consumer = kafka.consumer({ groupId: `read-${options.topic}` });
  await consumer.connect();
  await consumer.subscribe({ topics: [options.topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => found.record(partition, BigInt(message.offset), message.value),
  });
  return () => consumer.disconnect();
}

module.exports = { version, named, producer, reader };
