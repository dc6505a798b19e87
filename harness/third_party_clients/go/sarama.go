package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type answer func(offset int64, failure string)

type asyncProducer struct {
	sarama.AsyncProducer
	topic  string
	config *sarama.Config
	open   sync.WaitGroup
}

func connectSarama(o options) (producer, error) {
	config := sarama.NewConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll // its default is the leader alone
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	if !o.libraryRetries {
		// It has no time limit for a record, only a number of attempts, which are one Backoff apart.
		config.Producer.Retry.Max = o.deliveryMs / int(config.Producer.Retry.Backoff.Milliseconds())
	}
	made, err := sarama.NewAsyncProducer(o.brokers(), config)
	if err != nil {
		return nil, err
	}
	p := &asyncProducer{AsyncProducer: made, topic: o.topic, config: config}
	go p.successes()
	go p.errors()
	return p, nil
}

func (p *asyncProducer) idempotent() bool { return p.config.Producer.Idempotent }

func (p *asyncProducer) send(partition int32, value []byte, answered func(offset int64, failure string)) {
	p.open.Add(1)
	p.Input() <- &sarama.ProducerMessage{
		Topic: p.topic, Partition: partition, Value: sarama.ByteEncoder(value), Metadata: answer(answered),
	}
}

func (p *asyncProducer) successes() {
	for message := range p.Successes() {
		message.Metadata.(answer)(message.Offset, "")
		p.open.Done()
	}
}

func (p *asyncProducer) errors() {
	for failed := range p.Errors() {
		failed.Msg.Metadata.(answer)(-1, namedSarama(failed.Err))
		p.open.Done()
	}
}

func (p *asyncProducer) flush() error {
	p.open.Wait()
	return nil
}

func (p *asyncProducer) close() { p.AsyncClose() }

// namedSarama returns the name of an error; the library has words for those of brokers.
func namedSarama(err error) string {
	var broker sarama.KError
	if !errors.As(err, &broker) {
		return err.Error()
	}
	switch broker {
	case sarama.ErrNotEnoughReplicas:
		return "ErrNotEnoughReplicas"
	case sarama.ErrNotEnoughReplicasAfterAppend:
		return "ErrNotEnoughReplicasAfterAppend"
	case sarama.ErrInvalidConfig:
		return "ErrInvalidConfig"
	}
	return fmt.Sprintf("KError(%d)", int16(broker))
}

func readSarama(o options) error {
	client, err := sarama.NewClient(o.brokers(), sarama.NewConfig())
	if err != nil {
		return err
	}
	defer client.Close()
	brokers, found := []int32{}, []line{}
	for _, b := range client.Brokers() {
		brokers = append(brokers, b.ID())
	}
	partitions, err := client.Partitions(o.topic)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		leader, err := client.Leader(o.topic, p)
		if err != nil {
			return err
		}
		replicas, err := client.Replicas(o.topic, p)
		if err != nil {
			return err
		}
		found = append(found, line{"partition": p, "leader": leader.ID(), "replicas": replicas})
	}
	report("metadata", line{"brokers": brokers, "partitions": found})

	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return err
	}
	messages := make(chan *sarama.ConsumerMessage)
	for _, p := range partitions {
		part, err := consumer.ConsumePartition(o.topic, p, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		go func() {
			for m := range part.Messages() {
				messages <- m
			}
		}()
	}
	records := 0
	for records < o.records {
		select {
		case m := <-messages:
			reportRead(m.Partition, m.Offset, m.Value)
			records++
			continue
		case <-time.After(o.patience()):
		}
		break
	}
	report("summary", line{"records": records})
	return nil
}
