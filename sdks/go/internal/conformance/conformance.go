// Package conformance reads the cases that every client library of Punctual passes. They are in the repository, not in the module:
// without them the tests skip.
package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// folder is sdks/conformance. Tests run in the folder of their package.
func folder(t testing.TB) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; here != filepath.Dir(here); here = filepath.Dir(here) {
		found := filepath.Join(here, "conformance", "cases")
		if _, err := os.Stat(found); err == nil {
			return filepath.Dir(found)
		}
	}
	t.Skip("the conformance cases are only in the repository of Punctual")
	return ""
}

// Read reads a file. A field that the value does not have is a failure, so that no part of a case is ignored.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(t), name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Cases reads the cases of a file. There is at least one.
func Cases[Case any](t testing.TB, name string) []Case {
	t.Helper()
	var file struct {
		About string `json:"about"`
		Now   string `json:"now"`
		Cases []Case `json:"cases"`
	}
	Read(t, filepath.Join("cases", name+".json"), &file)
	if len(file.Cases) == 0 {
		t.Fatalf("%s.json has no cases", name)
	}
	return file.Cases
}

// Names lists the files of cases.
func Names(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder(t), "cases", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(file[:len(file)-len(".json")])
	}
	return names
}

// Native replaces the values that JSON does not have: {"$instant": text} becomes the text, and {"$raw": text} the JSON in it, byte
// for byte.
func Native(t testing.TB, value json.RawMessage) json.RawMessage {
	t.Helper()
	return Replace(t, value, func(special, text string) (json.RawMessage, bool) {
		switch special {
		case "$instant":
			quoted, err := json.Marshal(text)
			return quoted, err == nil
		case "$raw":
			return json.RawMessage(text), true
		default:
			return nil, false
		}
	})
}

// Replace replaces each object with one member whose name begins with $.
func Replace(
	t testing.TB,
	value json.RawMessage,
	replace func(special, text string) (json.RawMessage, bool),
) json.RawMessage {
	t.Helper()
	var items []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case json.Unmarshal(value, &members) == nil && members != nil:
		for name, member := range members {
			var text string
			_ = json.Unmarshal(member, &text) // Only {"$anything": true} is no text.
			if replaced, ok := replace(name, text); ok && len(members) == 1 {
				return replaced
			}
			members[name] = Replace(t, member, replace)
		}
		return joined(t, members)
	case json.Unmarshal(value, &items) == nil && items != nil:
		out := []byte{'['}
		for i, item := range items {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, Replace(t, item, replace)...)
		}
		return append(out, ']')
	default:
		return value
	}
}

func joined(t testing.TB, members map[string]json.RawMessage) json.RawMessage {
	t.Helper()
	out := []byte{'{'}
	for name, member := range members {
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(append(out, quoted...), ':'), member...)
	}
	return append(out, '}')
}

// SameJSON compares two texts as JSON. Numbers are compared as text, so that large ones stay exact.
func SameJSON(t testing.TB, got, want []byte) {
	t.Helper()
	normal := func(text []byte) string {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		sorted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(sorted)
	}
	if got, want := normal(got), normal(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
