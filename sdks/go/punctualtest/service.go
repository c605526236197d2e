// Package punctualtest helps to test programs that use Punctual. It starts the real service with a clock that only the test moves: a
// reminder in 31 days takes milliseconds.
//
//	service := punctualtest.NewService(t, nil)
//	receiver := service.NewReceiver(nil)
//	… create a timer for receiver.URL with service.Client …
//	service.Advance(31 * punctual.Day)
//	… look at receiver.Deliveries() …
//
// It needs the program punctual: in the environment variable PUNCTUAL_EXECUTABLE, or on the PATH. It downloads nothing.
package punctualtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	punctual "punctual.dev/client"
)

// Options of a test service.
type Options struct {
	// Executable is the program to start. If empty: PUNCTUAL_EXECUTABLE, or punctual on the PATH.
	Executable string
	// StartAt is where the clock begins; now if zero.
	StartAt time.Time
	// Namespace of the client; test if empty.
	Namespace string
	// Settings of the service, such as TIMER_EGRESS.
	Settings map[string]string
}

// Service is a running service with a manual clock. It keeps its timers in memory, listens on a free port of this machine, and ends with
// the test. Its methods end the test if they fail, so call them from the goroutine of the test.
type Service struct {
	// URL of the service.
	URL string
	// Client of the service. Its delays count by the clock of the service.
	Client *punctual.Client

	t testing.TB
}

const (
	startWithin   = time.Minute
	advanceWithin = time.Minute
	// outputWithin: how long the rest of the output may take after the program has ended.
	outputWithin   = 5 * time.Second
	mostAdvances   = 1_000
	mostOutput     = 10_000
	readyCheckWait = 20 * time.Millisecond
)

// NewService starts the program, and returns when the service takes timers. The options may be nil.
func NewService(t testing.TB, options *Options) *Service {
	t.Helper()
	if options == nil {
		options = &Options{}
	}
	process, err := start(options)
	if err != nil {
		t.Fatalf("punctualtest: the service could not start (%v): set PUNCTUAL_EXECUTABLE to the program, or put punctual on the PATH", err)
	}
	t.Cleanup(process.stop)
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	url, err := process.untilReady(ctx)
	if err != nil {
		process.stop()
		t.Fatalf("punctualtest: the service %v\n%s", err, process.output.text())
	}
	namespace := options.Namespace
	if namespace == "" {
		namespace = "test"
	}
	client, err := punctual.New(punctual.Options{
		URL:       url,
		KeyFunc:   func(context.Context) (string, error) { return "", nil },
		Namespace: namespace,
		DelayFrom: punctual.DelayFromServer,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Service{URL: url, Client: client, t: t}
}

// Now is the time of the service.
func (s *Service) Now() time.Time {
	s.t.Helper()
	answer, err := s.Client.Service.Get(context.Background(), punctual.GetService{})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.Now
}

// Advance moves the clock, and returns how many timers fired. Every timer that becomes due on the way has fired, and its outcome is
// stored, when it returns.
func (s *Service) Advance(by time.Duration) (fired int) {
	s.t.Helper()
	next := punctual.AdvanceClock{By: by}
	for range mostAdvances {
		answer, err := s.Client.Clock.Advance(context.Background(), next, punctual.WithTimeout(advanceWithin))
		if err != nil {
			s.t.Fatal(err)
		}
		fired += answer.Fired
		if !answer.More {
			return fired
		}
		// A part of the firings is left for another call. It goes on to the same instant.
		if next.To.IsZero() {
			next = punctual.AdvanceClock{To: answer.Now}
		}
	}
	s.t.Fatalf("punctualtest: timers still fire after %d calls", mostAdvances)
	return fired
}

// process is the program of the service.
type process struct {
	command *exec.Cmd
	output  *outputTail
	// ended is closed when the program has ended.
	ended chan struct{}
}

func start(options *Options) (*process, error) {
	executable := options.Executable
	if executable == "" {
		executable = os.Getenv("PUNCTUAL_EXECUTABLE")
	}
	if executable == "" {
		executable = "punctual"
	}
	output := &outputTail{grown: make(chan struct{}, 1)}
	command := exec.Command(executable, "serve")
	command.Env = environmentOf(options)
	command.Stdout, command.Stderr = output, output
	command.WaitDelay = outputWithin
	endWithParent(command)
	started := &process{command: command, output: output, ended: make(chan struct{})}
	failed := make(chan error)
	go func() {
		// The system ends the program with the thread that started it, so this thread must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		failed <- err
		if err == nil {
			_ = command.Wait() // It is killed, so it never ends well.
			close(started.ended)
		}
	}()
	return started, <-failed
}

// environmentOf is that of the test without the settings of the machine.
func environmentOf(options *Options) []string {
	var environment []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "TIMER_") {
			environment = append(environment, variable)
		}
	}
	clock := "manual"
	if !options.StartAt.IsZero() {
		clock += ":" + options.StartAt.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	environment = append(environment,
		"TIMER_STORE_URL=memory:",
		"TIMER_HTTP_PORT=0",
		"TIMER_LOG=warn",
		// With a key the service can keep the webhook secrets of the test.
		"TIMER_SECRET_KEY="+strings.Repeat("0123456789abcdef", 4),
		"TIMER_CLOCK="+clock,
	)
	for name, value := range options.Settings {
		environment = append(environment, name+"="+value)
	}
	return environment
}

func (p *process) stop() {
	_ = p.command.Process.Kill() // It fails only if the program has ended.
	<-p.ended
}

var listensOn = regexp.MustCompile(`listens on (https?:\S+)\s`)

// untilReady returns the URL, once the service takes timers.
func (p *process) untilReady(ctx context.Context) (string, error) {
	url := ""
	for url == "" {
		select {
		case <-p.output.grown:
		case <-p.ended:
			return "", fmt.Errorf("ended: %s", p.command.ProcessState)
		case <-ctx.Done():
			return "", fmt.Errorf("did not start within %s", startWithin)
		}
		if match := listensOn.FindStringSubmatch(p.output.text()); match != nil {
			url = match[1]
		}
	}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health/ready", nil)
		if err != nil {
			return "", err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", fmt.Errorf("is not ready: %w", err)
		}
		_, _ = io.Copy(io.Discard, response.Body) // Only the status counts.
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return url, nil
		}
		time.Sleep(readyCheckWait)
	}
}

// outputTail keeps the last part of what the program writes.
type outputTail struct {
	lock  sync.Mutex
	kept  []byte
	grown chan struct{}
}

func (o *outputTail) Write(part []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.kept = append(o.kept, part...)
	o.kept = o.kept[max(0, len(o.kept)-mostOutput):]
	select {
	case o.grown <- struct{}{}:
	default:
	}
	return len(part), nil
}

func (o *outputTail) text() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return string(o.kept)
}
