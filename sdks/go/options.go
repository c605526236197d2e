package punctual

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// Options are the settings of a client. The zero value is a client without a namespace, for the service at TIMER_URL.
type Options struct {
	// URL of the service, such as https://timers.example.com. The environment variable TIMER_URL if empty.
	URL string
	// Key of the caller. The environment variable TIMER_API_KEY if it and KeyFunc are absent.
	Key string
	// KeyFunc reads the key for each request, also from several goroutines at once. If it returns "", the request has no key. If it
	// fails, the call fails with ErrAccess, and errors.Is finds the error of KeyFunc.
	KeyFunc func(ctx context.Context) (string, error)
	// Namespace of requests that name none.
	Namespace string
	// Timeout limits each try; 10 s if zero. The context of a call limits all tries together.
	Timeout time.Duration
	// MaxRetries says how often the client repeats a call that is harmless to repeat. 2 if zero; negative for never.
	MaxRetries int
	// DelayFrom says where delays begin. The client sends them as instants of its clock, unless it is DelayFromServer.
	DelayFrom DelayFrom
	// Header of every request.
	Header http.Header
	// HTTPClient sends the requests; if nil, one that uses the proxy of the environment. The client works with a copy that never
	// follows redirects, because another host must not get the key. Its Timeout, if it has one, limits each try, and also ends streams.
	HTTPClient *http.Client
	// Logger gets warnings, and repeats at the level debug. It never gets payloads or keys. Nothing is logged if nil.
	Logger *slog.Logger
	// Hooks learn about each try, for metrics and traces.
	Hooks Hooks
}

// DelayFrom says where delays begin.
type DelayFrom string

const (
	// DelayFromClient: when you make the call. A repeat does not move the timer.
	DelayFromClient DelayFrom = "client"
	// DelayFromServer: when the service gets the request. A create is then not repeated after a time-out.
	DelayFromServer DelayFrom = "server"
)

// Hooks are functions that the client calls before and after each try: OnRequest, and then either OnAnswer or OnFailure. They must
// return soon, and be safe for concurrent use. The stream of events does not call them.
type Hooks struct {
	OnRequest func(ctx context.Context, event RequestEvent)
	OnAnswer  func(ctx context.Context, event AnswerEvent)
	// OnFailure is called for a failed try. The client may try again.
	OnFailure func(ctx context.Context, event FailureEvent)
}

// RequestEvent is what hooks learn about a request.
type RequestEvent struct {
	// Operation is the id in the OpenAPI document, such as timers.create.
	Operation string
	// Attempt is 1 for the first try.
	Attempt int
}

// AnswerEvent is what hooks learn about an answer.
type AnswerEvent struct {
	RequestEvent
	Status    int
	RequestID string
	Duration  time.Duration
}

// FailureEvent is what hooks learn about a failed try.
type FailureEvent struct {
	RequestEvent
	Err      *Error
	Duration time.Duration
}

// CallOption changes one call.
type CallOption func(*callSettings)

type callSettings struct {
	timeout    time.Duration
	maxRetries int
	delayFrom  DelayFrom
	header     http.Header
}

// WithTimeout limits each try of the call. The context limits all tries together.
func WithTimeout(timeout time.Duration) CallOption {
	return func(settings *callSettings) { settings.timeout = timeout }
}

// WithMaxRetries says how often the client may repeat the call: 0 for never, at most 100.
func WithMaxRetries(maxRetries int) CallOption {
	return func(settings *callSettings) { settings.maxRetries = min(maxRetries, mostRetries) }
}

// WithDelayFrom says where the delay of the call begins.
func WithDelayFrom(delayFrom DelayFrom) CallOption {
	return func(settings *callSettings) { settings.delayFrom = delayFrom }
}

// WithHeader sets a header of the call.
func WithHeader(name, value string) CallOption {
	return func(settings *callSettings) {
		if settings.header == nil {
			settings.header = http.Header{}
		}
		settings.header.Set(name, value)
	}
}

// clock is time and randomness. Tests replace it.
type clock struct {
	now func() time.Time
	// sleep returns early if the context ends.
	sleep func(ctx context.Context, wait time.Duration)
	// after calls the function later, unless stop is called before.
	after  func(wait time.Duration, call func()) (stop func())
	random func() float64
}

var systemClock = clock{
	now:    time.Now,
	random: rand.Float64,
	sleep: func(ctx context.Context, wait time.Duration) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	},
	after: func(wait time.Duration, call func()) func() {
		timer := time.AfterFunc(wait, call)
		return func() { timer.Stop() }
	},
}

const (
	usualTimeout    = 10 * time.Second
	usualMaxRetries = 2
	mostRetries     = 100
	// idleConnections to the service. The default transport keeps two, which is too few for a busy program.
	idleConnections = 100
)

var urlForm = regexp.MustCompile(`^https?://[^/?#@]+[^?#@]*$`)

func connectionOf(options Options) (*connection, error) {
	place := options.URL
	if place == "" {
		place = os.Getenv("TIMER_URL")
	}
	if place == "" {
		return nil, errors.New("punctual: the client needs a URL: give one, or set TIMER_URL")
	}
	if _, err := url.Parse(place); err != nil || !urlForm.MatchString(place) {
		return nil, errors.New("punctual: URL must be http://host:port or https://host, without credentials, query and fragment")
	}
	if options.Timeout < 0 {
		return nil, errors.New("punctual: Timeout must not be negative")
	}
	if options.MaxRetries > mostRetries {
		return nil, errors.New("punctual: MaxRetries must be at most 100")
	}
	switch options.DelayFrom {
	case "", DelayFromClient, DelayFromServer:
	default:
		return nil, errors.New("punctual: DelayFrom must be DelayFromClient or DelayFromServer")
	}
	if options.Key != "" && options.KeyFunc != nil {
		return nil, errors.New("punctual: give one of Key and KeyFunc")
	}
	return &connection{
		url:      strings.TrimRight(place, "/"),
		keyFunc:  keyFuncOf(options),
		usual:    usualSettings(options),
		header:   options.Header.Clone(),
		http:     httpClientOf(options.HTTPClient),
		logger:   options.Logger,
		hooks:    options.Hooks,
		clock:    systemClock,
		maxBytes: usualMaxBytes,
	}, nil
}

func usualSettings(options Options) callSettings {
	settings := callSettings{
		timeout:    options.Timeout,
		maxRetries: max(options.MaxRetries, 0),
		delayFrom:  options.DelayFrom,
	}
	if settings.timeout == 0 {
		settings.timeout = usualTimeout
	}
	if options.MaxRetries == 0 {
		settings.maxRetries = usualMaxRetries
	}
	return settings
}

func keyFuncOf(options Options) func(context.Context) (string, error) {
	if options.KeyFunc != nil {
		return options.KeyFunc
	}
	key := options.Key
	if key == "" {
		key = os.Getenv("TIMER_API_KEY")
	}
	return func(context.Context) (string, error) { return key, nil }
}

func httpClientOf(given *http.Client) *http.Client {
	var own http.Client
	if given != nil {
		own = *given
	} else if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := usual.Clone()
		transport.MaxIdleConnsPerHost = idleConnections
		own.Transport = transport
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
