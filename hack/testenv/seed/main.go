// Command seed writes a cluster of Services and Pods straight into etcd, encoded and keyed as
// kube-apiserver itself stores them, so that a cluster of any size is there in seconds.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

const (
	writers   = 8
	txnOps    = 100
	txnBytes  = 1 << 20 // etcd refuses requests above 1.5 MiB
	dialLimit = 10 * time.Second
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func run() error {
	endpoint := flag.String("etcd", "http://127.0.0.1:2379", "client address of etcd, on a loopback address")
	prefix := flag.String("prefix", "/registry", "what the API server has as --etcd-prefix")
	c := cluster{now: time.Now().Truncate(time.Second)}
	flag.IntVar(&c.services, "services", 100, "number of Services")
	flag.IntVar(&c.podsPerService, "pods-per-service", 10, "number of Pods of each Service")
	flag.IntVar(&c.nodes, "nodes", 10, "number of Nodes, which the Pods are spread over")
	flag.IntVar(&c.namespaces, "namespaces", 1, "number of Namespaces, which the Services are spread over")
	flag.IntVar(&c.zones, "zones", 3, "number of zones, which the Nodes are spread over")
	flag.IntVar(&c.bystanders, "bystanders", 0, "number of further Pods, which are not endpoints: pending, finished, or in namespaces without Services, in turn")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err := c.validate(); err != nil {
		return err
	}
	if err := requireLoopback(*endpoint); err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	started := time.Now()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{*endpoint},
		DialTimeout: dialLimit,
		DialOptions: []grpc.DialOption{grpc.WithNoProxy()},
		Logger:      zap.NewNop(),
		Context:     ctx,
	})
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", *endpoint, err)
	}
	defer client.Close()
	probe, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	if _, err := client.Get(probe, "seed-probe", clientv3.WithCountOnly()); err != nil {
		return fmt.Errorf("no answer from etcd at %s: %w", *endpoint, err)
	}

	batches := 0
	if c.bystanders > 0 {
		batches = batchNamespaces
	}
	store := &store{client: client, prefix: strings.TrimSuffix(*prefix, "/")}
	// In this order, so that a running API server meets nothing before what it refers to.
	for _, step := range []struct {
		count int
		build func(int) object
	}{
		{c.namespaces, c.namespaceAt},
		{batches, func(i int) object { return c.namespaceAt(c.namespaces + i) }},
		{c.nodes, c.nodeAt},
		{c.services, c.addressOf},
		{c.services, c.serviceAt},
		{c.services * c.podsPerService, c.podAt},
		{c.bystanders, c.bystanderAt},
	} {
		if err := store.write(ctx, step.count, step.build); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(struct {
		Services   int     `json:"services"`
		Pods       int     `json:"pods"`
		Nodes      int     `json:"nodes"`
		Namespaces int     `json:"namespaces"`
		Bytes      int64   `json:"bytes"`
		Seconds    float64 `json:"seconds"`
	}{
		c.services, c.services*c.podsPerService + c.bystanders, c.nodes, c.namespaces, store.bytes,
		time.Since(started).Round(time.Millisecond).Seconds(),
	})
}

func requireLoopback(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("--etcd: %w", err)
	}
	if u.Scheme != "http" || u.Port() == "" {
		return errors.New("--etcd must look like http://127.0.0.1:2379")
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--etcd: %s is not a loopback address; this command only fills test clusters", u.Host)
	}
	return nil
}

// object is something to store and its key below the prefix.
type object struct {
	key string
	obj runtime.Object
}

type store struct {
	client *clientv3.Client
	prefix string

	mu    sync.Mutex
	bytes int64
}

// write stores what build returns for every index below count.
func (s *store) write(ctx context.Context, count int, build func(int) object) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	chunks := chunksOf(ctx, count)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			// The objects carry their own kind and need no scheme to be encoded.
			b := batch{store: s, serializer: protobuf.NewSerializer(nil, nil)}
			for chunk := range chunks {
				for i := chunk[0]; i < chunk[1]; i++ {
					if err := b.add(ctx, build(i)); err != nil {
						cancel(err)
						return
					}
				}
			}
			if err := b.flush(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// chunksOf hands out [from, to) ranges of the size of a transaction.
func chunksOf(ctx context.Context, count int) <-chan [2]int {
	chunks := make(chan [2]int)
	go func() {
		defer close(chunks)
		for from := 0; from < count; from += txnOps {
			select {
			case chunks <- [2]int{from, min(from+txnOps, count)}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return chunks
}

// batch collects the puts of one transaction.
type batch struct {
	store      *store
	serializer runtime.Serializer
	ops        []clientv3.Op
	bytes      int
}

func (b *batch) add(ctx context.Context, o object) error {
	var buf bytes.Buffer
	if err := b.serializer.Encode(o.obj, &buf); err != nil {
		return fmt.Errorf("encoding %s: %w", o.key, err)
	}
	if len(b.ops) == txnOps || b.bytes+buf.Len() > txnBytes {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	b.ops = append(b.ops, clientv3.OpPut(b.store.prefix+o.key, buf.String()))
	b.bytes += buf.Len()
	return nil
}

func (b *batch) flush(ctx context.Context) error {
	if len(b.ops) == 0 {
		return nil
	}
	if _, err := b.store.client.Txn(ctx).Then(b.ops...).Commit(); err != nil {
		return fmt.Errorf("writing to etcd: %w", err)
	}
	b.store.mu.Lock()
	b.store.bytes += int64(b.bytes)
	b.store.mu.Unlock()
	b.ops, b.bytes = b.ops[:0], 0
	return nil
}
