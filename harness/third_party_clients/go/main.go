// Command client is a Go library as a program with the contract of ../README.md; --client names the library.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	magic = 0x52534c31
	head  = 21 // magic, due time, sequence, length of the name
)

// library is what a client library has to do for this program.
type library struct {
	module  string // its path, by which its version is found
	connect func(o options) (producer, error)
	read    func(o options) error
}

// producer sends records. send calls answered once, from any goroutine; flush returns when all are answered.
type producer interface {
	idempotent() bool
	send(partition int32, value []byte, answered func(offset int64, failure string))
	flush() error
	close()
}

var libraries = map[string]library{
	"franz-go": {"github.com/twmb/franz-go", connectFranz, readFranz},
	"sarama":   {"github.com/IBM/sarama", connectSarama, readSarama},
}

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
	fmt.Fprintln(os.Stderr, "Go client failed:", err)
	os.Exit(1)
}

func version(module string) string {
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

func reportRead(partition int32, offset int64, value []byte) {
	producer, seq := author(value)
	report("read", line{"partition": partition, "offset": offset, "producer": producer, "seq": seq})
}

type options struct {
	client, bootstrap, topic, producer, partitions string
	records                                        int
	rate, idleSeconds                              float64
	deliveryMs                                     int
	libraryRetries                                 bool
}

func (o options) brokers() []string { return strings.Split(o.bootstrap, ",") }

func (o options) patience() time.Duration { return time.Duration(o.idleSeconds * float64(time.Second)) }

func produce(lib library, o options) error {
	var partitions []int32
	for _, text := range strings.Split(o.partitions, ",") {
		p, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		partitions = append(partitions, int32(p))
	}
	client, err := lib.connect(o)
	if err != nil {
		return err
	}
	defer client.close()
	report("started", line{"producer": o.producer, "version": version(lib.module), "idempotence": client.idempotent()})

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
		at, partition := time.Now(), partitions[sent%len(partitions)]
		client.send(partition, payload(o.producer, seq, due.UnixNano()), func(offset int64, failure string) {
			fields := line{
				"producer": o.producer, "seq": seq, "topic": o.topic, "partition": partition, "offset": offset,
				"due_ns": due.UnixNano(), "sent_ns": at.UnixNano(), "done_ns": time.Now().UnixNano(),
				"due_mono_ns": due.Sub(begin).Nanoseconds(), "result": "OK", "cause": "",
			}
			if failure != "" {
				fields["offset"] = -1
				fields["result"] = failure
			}
			report("record", fields)
		})
	}
	if err := client.flush(); err != nil {
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

func main() {
	if len(os.Args) < 2 || (os.Args[1] != "produce" && os.Args[1] != "read") {
		usage()
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.client, "client", "", "franz-go or sarama")
	flags.StringVar(&o.bootstrap, "bootstrap", "", "brokers")
	flags.StringVar(&o.topic, "topic", "", "topic")
	flags.StringVar(&o.producer, "producer", "", "name in the records")
	flags.StringVar(&o.partitions, "partitions", "0", "partitions, used in turn")
	flags.IntVar(&o.records, "records", 20, "number of records")
	flags.Float64Var(&o.rate, "rate", 0, "records per second; 0: all at once")
	flags.Float64Var(&o.idleSeconds, "idle-seconds", 30, "time without a record after which reading ends")
	flags.IntVar(&o.deliveryMs, "delivery-timeout-ms", 60000, "time limit of a record")
	retries := flags.String("retries", "", "library: as often as the library does by default")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	lib, known := libraries[o.client]
	if !known || (*retries != "" && *retries != "library") {
		usage()
	}
	o.libraryRetries = *retries != ""
	run := func() error { return produce(lib, o) }
	if os.Args[1] == "read" {
		run = func() error { return lib.read(o) }
	}
	if err := run(); err != nil {
		fail(err)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: client produce|read --client franz-go|sarama --bootstrap B --topic T --records N ...; see README.md")
	os.Exit(2)
}
