package rpc

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
)

// A Call is one call of a method: messages from the caller and to it. One
// goroutine at a time may use it.
type Call struct {
	w          http.ResponseWriter
	r          *http.Request
	controller *http.ResponseController
	maxRequest int
	begun      bool // the answer's headers are sent
}

// headerSize is how many bytes stand before a message: whether it is compressed,
// and its length.
const headerSize = 5

// Metadata is the first value of a header of the call, "" for none.
func (c *Call) Metadata(name string) string { return c.r.Header.Get(name) }

// Receive returns the caller's next message, or io.EOF after the last.
func (c *Call) Receive() ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(c.r.Body, header[:]); err == io.EOF {
		return nil, io.EOF
	} else if err != nil {
		return nil, cut(err)
	}
	switch encoding := c.r.Header.Get("Grpc-Encoding"); {
	case header[0] == 1 && encoding != "" && encoding != "identity":
		return nil, Errorf(Unimplemented, "messages compressed with %s are not read", encoding)
	case header[0] != 0:
		return nil, Errorf(Internal, "a message is flagged as compressed, without an encoding")
	}
	size := binary.BigEndian.Uint32(header[1:])
	if int64(size) > int64(c.maxRequest) {
		return nil, Errorf(ResourceExhausted, "a message has %d bytes, over the limit of %d", size, c.maxRequest)
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(c.r.Body, message); err != nil {
		return nil, cut(err)
	}
	return message, nil
}

// cut is the error of a message that did not arrive whole.
func cut(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return Errorf(Internal, "a message ends early")
	}
	return Errorf(Canceled, "receiving a message: %w", err)
}

// Request returns the caller's only message, for methods that take one.
func (c *Call) Request() ([]byte, error) {
	message, err := c.Receive()
	if err == io.EOF {
		return nil, Errorf(Internal, "the call has no message")
	} else if err != nil {
		return nil, err
	}
	if _, err := c.Receive(); err == nil {
		return nil, Errorf(Internal, "the call has more than one message")
	} else if err != io.EOF {
		return nil, err
	}
	return message, nil
}

// Send sends a message at once; nothing is held back for later ones.
func (c *Call) Send(message []byte) error {
	if uint64(len(message)) > math.MaxUint32 {
		return Errorf(ResourceExhausted, "a message has %d bytes, more than gRPC can carry", len(message))
	}
	c.begin()
	framed := make([]byte, headerSize, headerSize+len(message))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(message))) //nolint:gosec // it was compared with the largest
	if _, err := c.w.Write(append(framed, message...)); err != nil {
		return Errorf(Canceled, "sending a message: %w", err)
	}
	if err := c.controller.Flush(); err != nil {
		return Errorf(Canceled, "sending a message: %w", err)
	}
	return nil
}

// begin sends the answer's headers.
func (c *Call) begin() {
	if c.begun {
		return
	}
	c.begun = true
	c.headers()
	c.w.WriteHeader(http.StatusOK)
}

// headers sets what every answer begins with.
func (c *Call) headers() {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Grpc-Accept-Encoding", "identity")
}

// finish sends the outcome: in trailers, or, where a call went wrong before its
// first message, in the place of headers, with nothing behind them.
func (c *Call) finish(err error) {
	code, message := outcome(err)
	prefix := ""
	if code == OK {
		c.begin()
	}
	if c.begun {
		prefix = http.TrailerPrefix
	} else {
		c.headers()
	}
	h := c.w.Header()
	h.Set(prefix+"Grpc-Status", strconv.Itoa(int(code)))
	if message != "" {
		h.Set(prefix+"Grpc-Message", percent(message))
	}
	if !c.begun {
		c.w.WriteHeader(http.StatusOK)
	}
}
