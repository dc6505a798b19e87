package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franz struct {
	client *kgo.Client
	topic  string
}

func connectFranz(o options) (producer, error) {
	limits := []kgo.Opt{kgo.RecordDeliveryTimeout(time.Duration(o.deliveryMs) * time.Millisecond)}
	if o.libraryRetries {
		limits = nil
	}
	client, err := kgo.NewClient(append(limits, kgo.SeedBrokers(o.brokers()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// As the other clients: not every reader of the tests can decode the default, snappy.
		kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	if err != nil {
		return nil, err
	}
	return franz{client, o.topic}, client.Ping(context.Background())
}

func (f franz) idempotent() bool { return true }

func (f franz) send(partition int32, value []byte, answered func(offset int64, failure string)) {
	record := &kgo.Record{Topic: f.topic, Partition: partition, Value: value}
	f.client.Produce(context.Background(), record, func(r *kgo.Record, err error) {
		answered(r.Offset, named(err))
	})
}

func (f franz) flush() error { return f.client.Flush(context.Background()) }

func (f franz) close() { f.client.Close() }

// named returns the name that a user of the library gets: the protocol's, or that of the library's own error.
func named(err error) string {
	var answer *kerr.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &answer):
		return answer.Message
	case errors.Is(err, kgo.ErrRecordTimeout):
		return "ErrRecordTimeout"
	case errors.Is(err, kgo.ErrRecordRetries):
		return "ErrRecordRetries"
	}
	return err.Error()
}

func readFranz(o options) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.brokers()...), kgo.ConsumeTopics(o.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(o.topic)
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(context.Background(), client)
	if err != nil {
		return err
	}
	brokers, partitions := []int32{}, []line{}
	for _, b := range answer.Brokers {
		brokers = append(brokers, b.NodeID)
	}
	for _, p := range answer.Topics[0].Partitions {
		partitions = append(partitions, line{"partition": p.Partition, "leader": p.Leader, "replicas": p.Replicas})
	}
	report("metadata", line{"brokers": brokers, "partitions": partitions})

	records := 0
	for records < o.records {
		patience, cancel := context.WithTimeout(context.Background(), o.patience())
		fetches := client.PollFetches(patience)
		over := patience.Err() != nil
		cancel()
		if err := fetches.Err(); err != nil && !over {
			return err
		}
		if over && fetches.NumRecords() == 0 {
			break
		}
		fetches.EachRecord(func(r *kgo.Record) {
			reportRead(r.Partition, r.Offset, r.Value)
			records++
		})
	}
	report("summary", line{"records": records})
	return nil
}
