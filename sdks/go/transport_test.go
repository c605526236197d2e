package punctual

// What the HTTP client of the caller does to a call: proxies, certificates, time limits and connections.

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

func clientOver(t *testing.T, place string, httpClient *http.Client) *Client {
	t.Helper()
	client, err := New(Options{URL: place, Namespace: "a", HTTPClient: httpClient, MaxRetries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNothingIsSentBeforeThereIsAConnection(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	throughProxy := &http.Client{Transport: &http.Transport{
		Proxy: func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") },
	}}
	for name, c := range map[string]struct {
		client    *Client
		retryable bool
	}{
		"a proxy that is away":              {clientOver(t, "https://service.test", throughProxy), true},
		"a certificate that nobody trusts":  {clientOver(t, secure.URL, nil), false},
		"https for a service that has none": {clientOver(t, "https"+plain.URL[len("http"):], nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.client.Timers.CancelMany(context.Background(), CancelManyTimers{All: true})
			want := errorWords{Code: Ptr(CodeConnectionRefused), Written: Ptr(WrittenNo), Retryable: &c.retryable}
			want.compare(t, err)
		})
	}
}

func TestIdleConnectionsCanBeClosed(t *testing.T) {
	closed := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"count":0,"capped":false}`))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	client := clientOver(t, server.URL, nil)
	for range 2 {
		if _, err := client.Timers.Count(context.Background(), CountTimers{}); err != nil {
			t.Fatal(err)
		}
		client.CloseIdleConnections()
		<-closed
	}
}

func TestATimeLimitOfTheHTTPClientIsATimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	client := clientOver(t, server.URL, &http.Client{Timeout: 10 * time.Millisecond})
	_, err := client.Timers.Cancel(context.Background(), CancelTimer{TimerID: "a"})
	failure := (&errorWords{Code: Ptr(CodeTimeout), Family: Ptr(ErrConnection), Retryable: Ptr(true)}).compare(t, err)
	if failure.Status != 0 {
		t.Errorf("the status is %d", failure.Status)
	}
}
