package punctualtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"punctual.dev/client/webhook"
)

// mostBodyBytes of a webhook. The service sends payloads of up to 1 MiB, with an envelope.
const mostBodyBytes = 4 << 20

// Delivery is one webhook that arrived.
type Delivery struct {
	webhook.Event
	// Path of the request.
	Path string
	// Body has the exact bytes.
	Body []byte
}

// Receiver is an endpoint for timers in the process of the test. It records what it gets.
type Receiver struct {
	// URL to send timers to.
	URL string

	handler    http.Handler
	lock       sync.Mutex
	deliveries []Delivery
}

// NewReceiver starts an endpoint for timers, which ends with the test. It records each webhook and passes it to the handler, which may be
// your own [webhook.Handler]. If the handler is nil, it answers 200.
func (s *Service) NewReceiver(handler http.Handler) *Receiver {
	receiver := &Receiver{handler: handler}
	server := httptest.NewServer(receiver)
	s.t.Cleanup(server.Close)
	receiver.URL = server.URL + "/"
	return receiver
}

// ServeHTTP records a webhook.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, mostBodyBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	event, err := webhook.Parse(request.Header, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.lock.Lock()
	r.deliveries = append(r.deliveries, Delivery{Event: *event, Path: request.URL.Path, Body: body})
	r.lock.Unlock()
	if r.handler != nil {
		request.Body = io.NopCloser(bytes.NewReader(body))
		r.handler.ServeHTTP(w, request)
	}
}

// Deliveries are the webhooks that arrived, in order.
func (r *Receiver) Deliveries() []Delivery {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Clone(r.deliveries)
}
