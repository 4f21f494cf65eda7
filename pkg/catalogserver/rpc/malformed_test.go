package rpc_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// frame puts the five bytes before a message.
func frame(flag byte, size int, message string) string {
	header := make([]byte, 5)
	header[0] = flag
	binary.BigEndian.PutUint32(header[1:], uint32(size))
	return string(header) + message
}

// What no well-made client sends.
func TestMalformedCalls(t *testing.T) {
	t.Parallel()
	_, server := start(t, rpc.Methods{
		"/s.S/Echo":  echo,
		"/s.S/Quiet": func(context.Context, *rpc.Call) error { return nil },
	})
	for _, tc := range []struct {
		name, body string
		headers    map[string]string
		code       string
		message    string
		path       string
	}{
		{name: "well made", body: frame(0, 3, "abc"), code: "0"},
		{name: "with parameters", body: frame(0, 3, "abc"), headers: map[string]string{"Content-Type": "application/grpc+proto; a=b"}, code: "0"},
		{name: "no answer", path: "/s.S/Quiet", code: "0"},
		{name: "no message", code: "13", message: "the call has no message"},
		{name: "two messages", body: frame(0, 1, "a") + frame(0, 1, "b"), code: "13", message: "the call has more than one message"},
		{name: "half a header", body: "\x00\x00", code: "13", message: "a message ends early"},
		{name: "half a message", body: frame(0, 3, "a"), code: "13", message: "a message ends early"},
		{name: "far too long", body: frame(0, 1<<32-1, "a"), code: "8", message: "a message has 4294967295 bytes, over the limit of 1000"},
		{name: "compressed without saying how", body: frame(1, 1, "a"), code: "13", message: "a message is flagged as compressed, without an encoding"},
		{
			name: "compressed with identity", body: frame(1, 1, "a"), headers: map[string]string{"Grpc-Encoding": "identity"},
			code: "13", message: "a message is flagged as compressed, without an encoding",
		},
		{name: "an unknown flag", body: frame(2, 1, "a"), code: "13", message: "a message is flagged as compressed, without an encoding"},
		{name: "not compressed after all", body: frame(0, 1, "a"), headers: map[string]string{"Grpc-Encoding": "gzip"}, code: "0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			answer := post(t, server, cmp.Or(tc.path, "/s.S/Echo"), strings.NewReader(tc.body), tc.headers)
			defer answer.Body.Close()
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Error(err)
			}
			code, message := statusOf(answer)
			if first := answer.Header.Get("Grpc-Status"); (first == "") != (code == "0") {
				t.Errorf("the headers have the status %q: only a call that fails at once ends with them", first)
			}
			if answer.StatusCode != http.StatusOK || code != tc.code || message != tc.message {
				t.Errorf("got %s: %s %q, want %s %q", answer.Status, code, message, tc.code, tc.message)
			}
			if got := answer.Header.Get("Content-Type") + " " + answer.Header.Get("Grpc-Accept-Encoding"); got != "application/grpc identity" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// What is no gRPC is told so in HTTP.
func TestNoCall(t *testing.T) {
	t.Parallel()
	server := &rpc.Server{}
	for _, tc := range []struct {
		name, method, contentType string
		major, want               int
	}{
		{"HTTP/1.1", "POST", "application/grpc", 1, http.StatusHTTPVersionNotSupported},
		{"GET", "GET", "application/grpc", 2, http.StatusMethodNotAllowed},
		{"no content type", "POST", "", 2, http.StatusUnsupportedMediaType},
		{"JSON", "POST", "application/grpc+json", 2, http.StatusUnsupportedMediaType},
		{"gRPC for browsers", "POST", "application/grpc-web", 2, http.StatusUnsupportedMediaType},
	} {
		request := httptest.NewRequestWithContext(t.Context(), tc.method, "/s.S/Echo", nil)
		request.ProtoMajor = tc.major
		request.Header.Set("Content-Type", tc.contentType)
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, request)
		if answer.Code != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, answer.Code, tc.want)
		}
	}
}

// FuzzCall holds that no bytes of a caller do anything but succeed or fail with
// a status, and that what succeeds comes back as it was.
func FuzzCall(f *testing.F) {
	f.Add([]byte(frame(0, 3, "abc")), "1S")
	f.Add([]byte(frame(1, 3, "abc")), "99999999H")
	f.Add([]byte("\x00\xff\xff\xff\xff"), "")
	server := &rpc.Server{Methods: rpc.Methods{"/s.S/Echo": echo}}
	f.Fuzz(func(t *testing.T, body []byte, timeout string) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/s.S/Echo", bytes.NewReader(body))
		request.ProtoMajor = 2
		request.Header["Content-Type"] = []string{"application/grpc"}
		if timeout != "" {
			request.Header["Grpc-Timeout"] = []string{timeout}
		}
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, request)
		answer := recorder.Result()
		code, _ := statusOf(answer)
		got, err := io.ReadAll(answer.Body)
		if err != nil || code == "" || answer.StatusCode != http.StatusOK {
			t.Fatalf("got %s, status %q, %v", answer.Status, code, err)
		}
		if code == "0" && !bytes.Equal(got, body) {
			t.Errorf("got %q, want %q", got, body)
		}
	})
}
