package punctual_test

// 1,000 creates through the client while one of three nodes is killed: no timer is lost, and none is there twice.

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	punctual "punctual.dev/client"
)

const (
	creates    = 1_000
	inParallel = 20
	killAfter  = 300
)

// overNodes is a load balancer without probes: each try goes to the next node, dead or alive.
type overNodes struct {
	hosts []string
	turn  atomic.Int64
}

func (o *overNodes) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Host = o.hosts[int(o.turn.Add(1))%len(o.hosts)]
	request.Host = request.URL.Host
	return http.DefaultTransport.RoundTrip(request)
}

func TestEveryCreateEndsWellWhileANodeOfThreeIsKilled(t *testing.T) {
	harness := newHarness(t)
	var cluster struct {
		ID   string
		URLs []string
	}
	harness.ask(http.MethodPost, "/clusters", nil, &cluster)
	t.Cleanup(func() { harness.ask(http.MethodDelete, "/clusters/"+cluster.ID, nil, nil) })
	nodes := &overNodes{}
	for _, text := range cluster.URLs {
		node, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		nodes.hosts = append(nodes.hosts, node.Host)
	}
	client := newClient(t, punctual.Options{
		URL:       "http://nodes.test",
		Namespace: "billing",
		Timeout:   8 * time.Second,
		// The shards of the dead node move when its lease ends. These tries last longer than that.
		MaxRetries: 20,
		HTTPClient: &http.Client{Transport: nodes},
	})

	var lanes sync.WaitGroup
	var begun, done atomic.Int64
	killTime := make(chan struct{})
	ctx := context.Background()
	for range inParallel {
		lanes.Add(1)
		go func() {
			defer lanes.Done()
			for number := begun.Add(1); number <= creates; number = begun.Add(1) {
				_, err := client.Timers.Create(ctx, punctual.CreateTimer{
					TimerID: punctual.AutoID, Delay: time.Hour, CallbackURL: "http://127.0.0.1:9/", Payload: number,
				})
				if err != nil {
					t.Errorf("create %d: %v", number, err)
				}
				if done.Add(1) == killAfter {
					close(killTime)
				}
			}
		}()
	}
	<-killTime
	harness.ask(http.MethodDelete, "/clusters/"+cluster.ID+"/nodes/2", nil, nil)
	lanes.Wait()

	numbers := map[int]int{}
	request := punctual.ListTimers{Include: []string{punctual.IncludePayload}, Limit: 500}
	for timer, err := range client.Timers.List(request).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		var number int
		if err := timer.DecodePayload(&number); err != nil {
			t.Fatal(err)
		}
		numbers[number]++
	}
	if len(numbers) != creates {
		t.Errorf("there are %d different timers, want %d", len(numbers), creates)
	}
	for number, count := range numbers {
		if count != 1 {
			t.Errorf("the timer %d is there %d times", number, count)
		}
	}
}
