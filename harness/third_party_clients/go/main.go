// Command client is franz-go as a program with the contract of ../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	module = "github.com/twmb/franz-go"
	magic  = 0x52534c31
	head   = 21 // magic, due time, sequence, length of the name
)

type line map[string]any

var out = struct {
	sync.Mutex
	*json.Encoder
}{Encoder: json.NewEncoder(os.Stdout)}

func report(event string, fields line) {
	fields["event"] = event
	out.Lock()
	defer out.Unlock()
	if err := out.Encode(fields); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "franz-go client failed:", err)
	os.Exit(1)
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return ""
}

func payload(producer string, seq, dueNs int64) []byte {
	size := head + len(producer)
	if size < 100 {
		size = 100
	}
	value := make([]byte, size)
	binary.BigEndian.PutUint32(value, magic)
	binary.BigEndian.PutUint64(value[4:], uint64(dueNs))
	binary.BigEndian.PutUint64(value[12:], uint64(seq))
	value[20] = byte(len(producer))
	copy(value[head:], producer)
	return value
}

func author(value []byte) (string, int64) {
	if len(value) < head || binary.BigEndian.Uint32(value) != magic || len(value) < head+int(value[20]) {
		return "", -1
	}
	return string(value[head : head+int(value[20])]), int64(binary.BigEndian.Uint64(value[12:]))
}

// named returns the name that a user of the library gets: the protocol's, or that of the library's own error.
func named(err error) string {
	var answer *kerr.Error
	switch {
	case errors.As(err, &answer):
		return answer.Message
	case errors.Is(err, kgo.ErrRecordTimeout):
		return "ErrRecordTimeout"
	case errors.Is(err, kgo.ErrRecordRetries):
		return "ErrRecordRetries"
	}
	return err.Error()
}

type options struct {
	bootstrap, topic, producer, partitions string
	records                                int
	rate, idleSeconds                      float64
	deliveryMs                             int
}

func (o options) seeds() kgo.Opt { return kgo.SeedBrokers(strings.Split(o.bootstrap, ",")...) }

func produce(o options) error {
	var partitions []int32
	for _, text := range strings.Split(o.partitions, ",") {
		p, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		partitions = append(partitions, int32(p))
	}
	client, err := kgo.NewClient(o.seeds(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// As the other clients: not every reader of the tests can decode the default, snappy.
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordDeliveryTimeout(time.Duration(o.deliveryMs)*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(context.Background()); err != nil {
		return err
	}
	report("started", line{"producer": o.producer, "version": version(), "idempotence": true})

	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			if strings.TrimSpace(in.Text()) == "stop" {
				return
			}
		}
	}()

	var gap time.Duration
	if o.rate > 0 {
		gap = time.Duration(float64(time.Second) / o.rate)
	}
	begin := time.Now()
	sent := 0
	for ; sent < o.records; sent++ {
		seq, due := int64(sent), begin.Add(time.Duration(sent)*gap)
		select {
		case <-stop:
		case <-time.After(time.Until(due)):
		}
		if closed(stop) {
			break
		}
		at := time.Now()
		record := &kgo.Record{
			Topic: o.topic, Partition: partitions[sent%len(partitions)],
			Value: payload(o.producer, seq, due.UnixNano()),
		}
		client.Produce(context.Background(), record, func(r *kgo.Record, err error) {
			fields := line{
				"producer": o.producer, "seq": seq, "topic": o.topic, "partition": r.Partition, "offset": r.Offset,
				"due_ns": due.UnixNano(), "sent_ns": at.UnixNano(), "done_ns": time.Now().UnixNano(),
				"due_mono_ns": due.Sub(begin).Nanoseconds(), "result": "OK", "cause": "",
			}
			if err != nil {
				fields["offset"] = -1
				fields["result"] = named(err)
			}
			report("record", fields)
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	report("summary", line{"producer": o.producer, "records": sent})
	return nil
}

func closed(stop chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

func read(o options) error {
	client, err := kgo.NewClient(o.seeds(), kgo.ConsumeTopics(o.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
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
		patience, cancel := context.WithTimeout(context.Background(), time.Duration(o.idleSeconds*float64(time.Second)))
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
			producer, seq := author(r.Value)
			report("read", line{"partition": r.Partition, "offset": r.Offset, "producer": producer, "seq": seq})
			records++
		})
	}
	report("summary", line{"records": records})
	return nil
}

func main() {
	if len(os.Args) < 2 || (os.Args[1] != "produce" && os.Args[1] != "read") {
		fmt.Fprintln(os.Stderr, "usage: client produce|read --bootstrap B --topic T --records N ...; see README.md")
		os.Exit(2)
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.bootstrap, "bootstrap", "", "brokers")
	flags.StringVar(&o.topic, "topic", "", "topic")
	flags.StringVar(&o.producer, "producer", "", "name in the records")
	flags.StringVar(&o.partitions, "partitions", "0", "partitions, used in turn")
	flags.IntVar(&o.records, "records", 20, "number of records")
	flags.Float64Var(&o.rate, "rate", 0, "records per second; 0: all at once")
	flags.Float64Var(&o.idleSeconds, "idle-seconds", 30, "time without a record after which reading ends")
	flags.IntVar(&o.deliveryMs, "delivery-timeout-ms", 60000, "time limit of a record")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	run := produce
	if os.Args[1] == "read" {
		run = read
	}
	if err := run(o); err != nil {
		fail(err)
	}
}
