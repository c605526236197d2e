package punctual_test

// The tests of this file's users need what the harness of the repository starts: networks that fail, and clusters.

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	punctual "punctual.dev/client"
	"punctual.dev/client/internal/needs"
)

type harness struct {
	t   testing.TB
	url string
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	needs.Executable(t)
	return &harness{t, needs.Harness(t)}
}

// ask sends a request to the harness, and reads the answer.
func (h *harness) ask(method, path string, body, answer any) {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := http.NewRequest(method, h.url+path, bytes.NewReader(text))
	if err != nil {
		h.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		h.t.Fatalf("%s %s: %d %s (%v)", method, path, response.StatusCode, text, err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			h.t.Fatal(err)
		}
	}
}

// proxy is an unreliable network before a service.
type proxy struct {
	*harness
	ID  string `json:"id"`
	URL string `json:"url"`
}

func (h *harness) newProxy(target string) *proxy {
	h.t.Helper()
	found := &proxy{harness: h}
	h.ask(http.MethodPost, "/proxies", map[string]string{"target": target}, found)
	h.t.Cleanup(func() { h.ask(http.MethodDelete, "/proxies/"+found.ID, nil, nil) })
	return found
}

// under makes the next request have this fault.
func (p *proxy) under(fault string) {
	p.t.Helper()
	p.ask(http.MethodPut, "/proxies/"+p.ID+"/faults", []string{fault}, nil)
}

func (p *proxy) requests() int {
	p.t.Helper()
	var answer struct{ Requests int }
	p.ask(http.MethodGet, "/proxies/"+p.ID, nil, &answer)
	return answer.Requests
}

func newClient(t testing.TB, options punctual.Options) *punctual.Client {
	t.Helper()
	client, err := punctual.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
