package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// start serves methods and connects gRPC's own client to them.
func start(t *testing.T, methods rpc.Methods) (*grpc.ClientConn, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(&rpc.Server{Methods: methods, MaxRequest: 1000})
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	conn, err := grpc.NewClient(server.Listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, server
}

// text is an encoded google.protobuf.StringValue, which is what the methods of
// these tests take and give.
func text(s string) []byte { return rpc.AppendText(nil, 1, s) }

// echo gives back the message that it is given.
func echo(_ context.Context, call *rpc.Call) error {
	request, err := call.Request()
	if err != nil {
		return err
	}
	return call.Send(request)
}

func TestUnary(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 3<<20)
	conn, _ := start(t, rpc.Methods{
		"/s.S/Echo":  echo,
		"/s.S/Plain": func(context.Context, *rpc.Call) error { return errors.New("out of order") },
		"/s.S/Coded": func(context.Context, *rpc.Call) error {
			return fmt.Errorf("looking: %w", rpc.Errorf(rpc.NotFound, "no 100%%41 “bundle”\n"))
		},
		"/s.S/Silent": func(_ context.Context, call *rpc.Call) error { _, err := call.Request(); return err },
		"/s.S/Big":    func(_ context.Context, call *rpc.Call) error { return call.Send(text(big)) },
		"/s.S/Late": func(_ context.Context, call *rpc.Call) error {
			if err := call.Send(text("one")); err != nil {
				return err
			}
			return rpc.Errorf(rpc.ResourceExhausted, "no more")
		},
		"/s.S/Key": func(_ context.Context, call *rpc.Call) error { return call.Send(text(call.Metadata("Key"))) },
	})
	for _, tc := range []struct {
		name, method, send, want string
		code                     codes.Code
		message                  string
		options                  []grpc.CallOption
	}{
		{name: "a message", method: "/s.S/Echo", send: "hello", want: "hello"},
		{name: "an empty message", method: "/s.S/Echo"},
		{name: "the longest message", method: "/s.S/Echo", send: strings.Repeat("x", 997), want: strings.Repeat("x", 997)},
		{
			name: "too long a message", method: "/s.S/Echo", send: strings.Repeat("x", 998),
			code: codes.ResourceExhausted, message: "a message has 1001 bytes, over the limit of 1000",
		},
		{name: "metadata", method: "/s.S/Key", want: "value"},
		{name: "a long answer", method: "/s.S/Big", want: big},
		{name: "an error", method: "/s.S/Plain", code: codes.Unknown, message: "out of order"},
		{name: "an error with a code", method: "/s.S/Coded", code: codes.NotFound, message: "looking: no 100%41 “bundle”\n"},
		{name: "an error after a message", method: "/s.S/Late", code: codes.ResourceExhausted, message: "no more"},
		{name: "no answer", method: "/s.S/Silent", code: codes.Internal},
		{name: "no such method", method: "/s.S/Other", code: codes.Unimplemented, message: "service s.S has no method Other"},
		{name: "no such service", method: "/s.T/Echo", code: codes.Unimplemented, message: "there is no service s.T"},
		{
			name: "a compressed message", method: "/s.S/Echo", send: "hello", options: []grpc.CallOption{grpc.UseCompressor(gzip.Name)},
			code: codes.Unimplemented, message: "messages compressed with gzip are not read",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := &wrapperspb.StringValue{}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "key", "value")
			err := conn.Invoke(ctx, tc.method, wrapperspb.String(tc.send), got, tc.options...)
			if s := status.Convert(err); s.Code() != tc.code || tc.message != "" && s.Message() != tc.message {
				t.Errorf("got %v, want %v %q", err, tc.code, tc.message)
			}
			if err == nil && got.Value != tc.want {
				t.Errorf("got %d bytes, want %d", len(got.Value), len(tc.want))
			}
		})
	}
}

var bidi = &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}

// Answers arrive while the method goes on: it waits for the caller, who waits
// for the answer.
func TestStream(t *testing.T) {
	t.Parallel()
	conn, _ := start(t, rpc.Methods{"/s.S/Talk": func(_ context.Context, call *rpc.Call) error {
		for {
			message, err := call.Receive()
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := call.Send(message); err != nil {
				return err
			}
		}
	}})
	stream, err := conn.NewStream(t.Context(), bidi, "/s.S/Talk")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		want := strings.Repeat("x", i*10)
		if err := stream.SendMsg(wrapperspb.String(want)); err != nil {
			t.Fatal(err)
		}
		got := &wrapperspb.StringValue{}
		if err := stream.RecvMsg(got); err != nil || got.Value != want {
			t.Fatalf("got %q, %v, want %q", got.Value, err, want)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}

	// A stream without any message ends well, too.
	stream, err = conn.NewStream(t.Context(), bidi, "/s.S/Talk")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

// A method's context ends with the caller, whether the method waits for it or
// for a message.
func TestCancellation(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 2)
	conn, _ := start(t, rpc.Methods{
		"/s.S/Wait": func(ctx context.Context, call *rpc.Call) error {
			if err := call.Send(text("begun")); err != nil {
				return err
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		},
		"/s.S/Receive": func(_ context.Context, call *rpc.Call) error {
			if err := call.Send(text("begun")); err != nil {
				return err
			}
			_, err := call.Receive()
			ended <- err
			return err
		},
	})
	for _, method := range []string{"/s.S/Wait", "/s.S/Receive"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := conn.NewStream(ctx, bidi, method)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&wrapperspb.StringValue{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; err == nil || err == io.EOF {
			t.Errorf("%s: got %v, want that the call is over", method, err)
		}
	}
}

// The outcome of a deadline is the server's to say where the caller does not
// count the time itself.
func TestDeadline(t *testing.T) {
	t.Parallel()
	deadlines := make(chan time.Duration, 1)
	conn, server := start(t, rpc.Methods{
		"/s.S/Left": func(ctx context.Context, _ *rpc.Call) error {
			at, ok := ctx.Deadline()
			if !ok {
				return errors.New("there is no deadline")
			}
			deadlines <- time.Until(at)
			return nil
		},
		"/s.S/Wait":    func(ctx context.Context, _ *rpc.Call) error { <-ctx.Done(); return ctx.Err() },
		"/s.S/Receive": func(_ context.Context, call *rpc.Call) error { _, err := call.Receive(); return err },
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_ = conn.Invoke(ctx, "/s.S/Left", wrapperspb.String(""), &wrapperspb.StringValue{})
	if left := <-deadlines; left > time.Hour || left < 50*time.Minute {
		t.Errorf("the method has %v, want an hour", left)
	}
	for _, tc := range []struct{ method, timeout, code, message string }{
		{"/s.S/Wait", "5m", "4", "the caller's deadline has passed"},
		{"/s.S/Receive", "5m", "4", "the caller's deadline has passed"},
		{"/s.S/Wait", "0n", "4", "the caller's deadline has passed"},
		{"/s.S/Wait", "5", "13", "grpc-timeout is malformed"},
		{"/s.S/Wait", "5x", "13", "grpc-timeout is malformed"},
		{"/s.S/Wait", "-5S", "13", "grpc-timeout is malformed"},
		{"/s.S/Wait", "123456789S", "13", "grpc-timeout is malformed"},
	} {
		body, hold := io.Pipe() // the caller goes on sending
		answer := post(t, server, tc.method, body, map[string]string{"Grpc-Timeout": tc.timeout})
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("%s: %v", tc.timeout, err)
		}
		answer.Body.Close()
		hold.Close()
		if code, message := statusOf(answer); code != tc.code || message != tc.message {
			t.Errorf("%s with %s: got %s %q, want %s %q", tc.method, tc.timeout, code, message, tc.code, tc.message)
		}
	}
}

// statusOf finds the outcome, in the headers or in the trailers.
func statusOf(answer *http.Response) (string, string) {
	if code := answer.Header.Get("Grpc-Status"); code != "" {
		return code, answer.Header.Get("Grpc-Message")
	}
	return answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
}

// post makes a call by hand.
func post(t *testing.T, server *httptest.Server, path string, body io.Reader, headers map[string]string) *http.Response {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A stopping server tells callers why their calls end.
func TestServerStops(t *testing.T) {
	t.Parallel()
	requests, stop := context.WithCancelCause(t.Context())
	begun := make(chan bool, 1)
	server := httptest.NewUnstartedServer(&rpc.Server{Methods: rpc.Methods{"/s.S/Receive": func(_ context.Context, call *rpc.Call) error {
		begun <- true
		_, err := call.Receive()
		return err
	}}})
	server.Config.BaseContext = func(net.Listener) context.Context { return requests }
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	conn, err := grpc.NewClient(server.Listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := conn.NewStream(t.Context(), bidi, "/s.S/Receive")
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	stop(errors.New("going home"))
	err = stream.RecvMsg(&wrapperspb.StringValue{})
	if s := status.Convert(err); s.Code() != codes.Unavailable || s.Message() != "going home" {
		t.Errorf("got %v", err)
	}
}
