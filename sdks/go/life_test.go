package punctual_test

// The whole life of a timer through the client, against the real service, over a network that loses requests and answers, keeps them too
// long and doubles them.

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	punctual "punctual.dev/client"
	"punctual.dev/client/punctualtest"
)

// holdLimit ends a call whose answer is held. The tries after it have the same limit, so there are many of them.
const holdLimit = 2 * time.Second

// life is a service behind an unreliable network.
type life struct {
	service *punctualtest.Service
	proxy   *proxy
	// client goes through the network. Its delays count by the clock of this machine, as in a real program.
	client *punctual.Client
}

func newLife(t *testing.T) *life {
	t.Helper()
	harness := newHarness(t)
	service := punctualtest.NewService(t, nil)
	proxy := harness.newProxy(service.URL)
	client := newClient(t, punctual.Options{URL: proxy.URL, Namespace: "test", MaxRetries: 5, Timeout: holdLimit})
	return &life{service, proxy, client}
}

func errorOf(t testing.TB, err error) *punctual.Error {
	t.Helper()
	var failure *punctual.Error
	if !errors.As(err, &failure) {
		t.Fatalf("the call returns %v, not an *Error", err)
	}
	return failure
}

func must[A any](answer A, err error) func(t testing.TB) A {
	return func(t testing.TB) A {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func TestATimerLivesItsLifeInSpiteOfTheNetwork(t *testing.T) {
	life := newLife(t)
	for _, fault := range []string{"pass", "cutBefore", "cutAfter", "hold", "duplicate"} {
		t.Run(fault, func(t *testing.T) { life.live(t, fault) })
	}
}

func (l *life) live(t *testing.T, fault string) {
	ctx, timers := context.Background(), l.client.Timers
	receiver := l.service.NewReceiver(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Punctual-Timer-Id"), "bad") {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}))
	good, bad := fault, "bad-"+fault
	at := l.service.Now().Add(time.Hour)
	// Each held answer takes its time, so only two calls are held: one that succeeds after it, and one that does not.
	later := fault
	if fault == "hold" {
		later = "pass"
	}

	l.proxy.under(fault)
	created := must(timers.Create(ctx, punctual.CreateTimer{TimerID: good, ExecuteAt: at, CallbackURL: receiver.URL}))(t)
	if created.Result != punctual.ResultCreated && created.Result != punctual.ResultUnchanged {
		t.Errorf("the create is %s", created.Result)
	}
	l.proxy.under(later)
	must(timers.CreateMany(ctx, []punctual.CreateTimer{{TimerID: bad, ExecuteAt: at, CallbackURL: receiver.URL}}))(t)
	l.proxy.under(later)
	read := must(timers.Get(ctx, punctual.GetTimer{TimerID: good}))(t)
	if read.Revision != created.Timer.Revision {
		t.Errorf("the revision is %d, want %d", read.Revision, created.Timer.Revision)
	}

	// If the first answer was lost, the repeat finds the new revision: then the change may be our own.
	l.proxy.under(fault)
	_, err := timers.Update(ctx, punctual.UpdateTimer{TimerID: good, Tags: []string{good}, IfRevision: read.Revision})
	if isSimple := fault == "pass" || fault == "cutBefore"; isSimple != (err == nil) {
		t.Errorf("the update fails: %v", err)
	}
	if err != nil {
		failure := errorOf(t, err)
		if failure.Code != punctual.CodeRevisionMismatch || fault != "duplicate" && failure.Written != punctual.WrittenUnknown {
			t.Errorf("the update fails: %+v", failure)
		}
	}
	l.proxy.under(later)
	listed := must(timers.List(punctual.ListTimers{Tag: good}).Collect(ctx, 10))(t)
	if len(listed) != 1 || listed[0].TimerID != good {
		t.Errorf("listed: %v", listed)
	}

	l.service.Advance(time.Hour)
	var delivered []string
	for _, delivery := range receiver.Deliveries() {
		delivered = append(delivered, delivery.TimerID)
	}
	slices.Sort(delivered)
	if !slices.Equal(delivered, []string{bad, good}) && !slices.Equal(delivered, []string{good, bad}) {
		t.Errorf("delivered: %v", delivered)
	}
	l.finish(ctx, t, good, bad, later)
}

// finish looks at the end of both timers.
func (l *life) finish(ctx context.Context, t *testing.T, good, bad, fault string) {
	timers := l.client.Timers
	l.proxy.under(fault)
	if timer := must(timers.Get(ctx, punctual.GetTimer{TimerID: good}))(t); timer.State != punctual.StateDelivered {
		t.Errorf("%s is %s", good, timer.State)
	}
	l.proxy.under(fault)
	if answer := must(timers.Cancel(ctx, punctual.CancelTimer{TimerID: good}))(t); answer.Result != punctual.ResultAlreadyDelivered {
		t.Errorf("the cancel is %s", answer.Result)
	}
	l.proxy.under(fault)
	if timer := must(timers.Get(ctx, punctual.GetTimer{TimerID: bad}))(t); timer.State != punctual.StateDead {
		t.Errorf("%s is %s", bad, timer.State)
	}
	l.proxy.under(fault)
	if answer := must(timers.Count(ctx, punctual.CountTimers{State: punctual.StateDead, IDPrefix: bad}))(t); answer.Count != 1 {
		t.Errorf("%d timers are dead", answer.Count)
	}
}

func TestACallThatMustNotHappenTwiceIsSentOnce(t *testing.T) {
	life := newLife(t)
	ctx, timers := context.Background(), life.client.Timers
	for _, fault := range []string{"cutAfter", "hold"} {
		t.Run(fault, func(t *testing.T) {
			at := life.service.Now().Add(time.Hour)
			must(timers.Create(ctx, punctual.CreateTimer{
				TimerID: punctual.AutoID, ExecuteAt: at, CallbackURL: "http://127.0.0.1:9/", Tags: []string{fault},
			}))(t)
			before := life.proxy.requests()
			life.proxy.under(fault)
			_, err := timers.CancelMany(ctx, punctual.CancelManyTimers{Filter: &punctual.TimerFilter{Tag: fault}})
			if failure := errorOf(t, err); failure.Written != punctual.WrittenUnknown || !failure.Retryable {
				t.Errorf("the error is %+v", failure)
			}
			if sent := life.proxy.requests() - before; sent != 1 {
				t.Errorf("%d requests were sent", sent)
			}
			if answer := must(timers.Count(ctx, punctual.CountTimers{Tag: fault}))(t); answer.Count != 0 {
				t.Errorf("%d timers are left", answer.Count)
			}
		})
	}
}

func TestTheContextEndsACallThatMayBeCarriedOut(t *testing.T) {
	life := newLife(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	life.proxy.under("hold")
	failed := make(chan error)
	go func() {
		_, err := life.client.Timers.Create(ctx, punctual.CreateTimer{
			TimerID: "a", Delay: time.Hour, CallbackURL: "http://127.0.0.1:9/",
		}, punctual.WithTimeout(time.Minute))
		failed <- err
	}()
	// The service has the timer, and the client still waits for the answer.
	for {
		_, err := life.service.Client.Timers.Get(context.Background(), punctual.GetTimer{TimerID: "a"})
		if err == nil {
			break
		}
		if !errors.Is(err, punctual.ErrNotFound) {
			t.Fatal(err)
		}
	}
	cancel()
	if failure := errorOf(t, <-failed); failure.Code != punctual.CodeAborted || failure.Written != punctual.WrittenUnknown {
		t.Errorf("the error is %+v", failure)
	}
	_, err := life.client.Timers.Cancel(ctx, punctual.CancelTimer{TimerID: "a"})
	if failure := errorOf(t, err); failure.Code != punctual.CodeAborted || failure.Written != punctual.WrittenNo {
		t.Errorf("the error is %+v", failure)
	}
}

func TestTheStreamHasWhatHappens(t *testing.T) {
	service := newLife(t).service
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request := punctual.StreamEvents{Namespaces: []string{"test"}, Types: []string{"created"}}
	hasCreated := false
	for event, err := range service.Client.Events.Stream(ctx, request) {
		if hasCreated {
			if failure := errorOf(t, err); failure.Code != punctual.CodeAborted || failure.Written != punctual.WrittenNo {
				t.Errorf("the error is %+v", failure)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch event.Type {
		case "nodes":
			// The service says first which nodes it hears, so nothing is missed.
			must(service.Client.Timers.Create(ctx, punctual.CreateTimer{
				TimerID: "a", Delay: time.Hour, CallbackURL: "http://127.0.0.1:9/",
			}))(t)
		case "created":
			if !strings.Contains(string(event.Data), `"timerId":"a"`) {
				t.Errorf("the event is %s", event.Data)
			}
			hasCreated = true
			cancel()
		}
	}
	t.Error("the stream ended without the end of the context")
}
