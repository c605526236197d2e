package punctual_test

// Requests of a user's own types. They must come from another package, as those of a user do.

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	punctual "punctual.dev/client"
)

type taggedRequest struct {
	ID    string `json:"timerId,omitempty"`
	Other string `json:"other,omitempty"`
}

// ownMarshaler writes itself.
type ownMarshaler struct{ id string }

func (m ownMarshaler) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"timerId": m.id})
}

func TestDoSendsEachKindOfRequest(t *testing.T) {
	sent := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = string(body)
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	client, err := punctual.New(punctual.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for want, request := range map[string]any{
		`{}`:                      nil,
		`{"timerId":"map"}`:       map[string]any{"timerId": "map"},
		`{"timerId":"marshaler"}`: ownMarshaler{"marshaler"},
		`{"timerId":"<tagged>"}`:  taggedRequest{ID: "<tagged>"},
		`{"TimerID":"bare"}`:      &struct{ TimerID string }{"bare"},
		`{"namespace":"","timerId":"own","delay":"1h30m"}`: punctual.CreateTimer{TimerID: "own", Delay: 90 * time.Minute},
	} {
		if _, err := client.Do(context.Background(), "timers.create", request); err != nil {
			t.Fatal(err)
		}
		if sent != want {
			t.Errorf("sent %s, want %s", sent, want)
		}
	}
}
