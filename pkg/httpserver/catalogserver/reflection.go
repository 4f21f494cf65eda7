package catalogserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// reflection is the service grpc.reflection.v1.ServerReflection, and the older v1alpha with the same messages, for
// these services (grpc-proto, grpc/reflection/v1/reflection.proto). grpcurl reads the descriptions of messages there. The
// messages are coded by hand: their descriptors would be built whenever the program starts.
type reflection []string

// A message is one as it is on the wire.
type message struct{ bytes.Buffer }

// wire passes messages as they are.
type wire struct{}

// Name implements connect.Codec. It replaces the codec for application/grpc.
func (wire) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (wire) Marshal(m any) ([]byte, error) { return m.(*message).Bytes(), nil }

// Unmarshal implements connect.Codec.
func (wire) Unmarshal(data []byte, m any) error {
	_, err := m.(*message).Write(data)
	return err
}

// handle adds both versions of the service.
func (r reflection) handle(mux *http.ServeMux, options connect.HandlerOption) {
	for _, version := range [...]string{"v1", "v1alpha"} {
		procedure := "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
		mux.Handle(procedure, connect.NewBidiStreamHandler(procedure, r.serve, options, connect.WithCodec(wire{})))
	}
}

// serve answers the requests of one stream. A file is sent once, unless it is requested by itself.
func (r reflection) serve(_ context.Context, stream *connect.BidiStream[message, message]) error {
	sent := map[string]bool{}
	for {
		request, err := stream.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		answer, err := r.answer(request.Bytes(), sent)
		if err != nil {
			return connect.NewError(connect.CodeInvalidArgument, err)
		}
		response := &message{}
		response.Write(answer)
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// The fields of a request. One of all but the host is set.
const (
	requestHost = iota + 1
	_
	requestFile
	requestSymbol
	requestExtension
	requestExtensions
	requestServices
)

// The fields of a response. One of all but the first two is set.
const (
	responseHost = iota + 1
	responseRequest
	_
	responseFiles
	responseExtensions
	responseServices
	responseError
)

// answer returns the response to a request. It is an error if the request is malformed.
func (r reflection) answer(request []byte, sent map[string]bool) ([]byte, error) {
	var host, value []byte
	asked := protowire.Number(0)
	err := eachField(request, func(field protowire.Number, text []byte) {
		switch {
		case field == requestHost:
			host = text
		case field >= requestFile && field <= requestServices:
			asked, value = field, text
		}
	})
	if err != nil {
		return nil, err
	}
	if asked == 0 {
		return nil, errors.New("the request asks for nothing")
	}
	field, body, err := r.find(asked, value, sent)
	if err != nil {
		field = responseError
		body = appendField(appendNumber(nil, 1, uint64(connect.CodeNotFound)), 2, []byte(err.Error()))
	}
	var response []byte
	if len(host) > 0 {
		response = appendField(response, responseHost, host)
	}
	return appendField(appendField(response, responseRequest, request), field, body), nil
}

// find returns the field of the response with what was asked for.
func (r reflection) find(asked protowire.Number, value []byte, sent map[string]bool) (field protowire.Number, body []byte, err error) {
	switch asked {
	case requestServices:
		for _, name := range r {
			body = appendField(body, 1, appendField(nil, 1, []byte(name)))
		}
		return responseServices, body, nil
	case requestExtension:
		return 0, nil, errors.New("no message has extensions")
	case requestExtensions:
		if !isHealth(string(value)) {
			_, err = protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(value))
		}
		return responseExtensions, appendField(nil, 1, value), err
	}
	name := string(value)
	if isHealth(name) {
		return responseFiles, appendField(nil, 1, describeHealth()), nil
	}
	var file protoreflect.FileDescriptor
	if asked == requestFile {
		file, err = protoregistry.GlobalFiles.FindFileByPath(name)
	} else {
		var found protoreflect.Descriptor
		if found, err = protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			file = found.ParentFile()
		}
	}
	if err != nil {
		return 0, nil, err
	}
	body, err = appendFiles(nil, file, sent)
	return responseFiles, body, err
}

// appendFiles appends a file, and the files that it imports unless they were sent.
func appendFiles(to []byte, root protoreflect.FileDescriptor, sent map[string]bool) ([]byte, error) {
	pending := []protoreflect.FileDescriptor{root}
	visited := map[string]bool{}
	for len(pending) > 0 {
		file := pending[0]
		pending = pending[1:]
		if visited[file.Path()] || file.IsPlaceholder() {
			continue
		}
		visited[file.Path()] = true
		if file == root || !sent[file.Path()] {
			sent[file.Path()] = true
			text, err := describe(file)
			if err != nil {
				return nil, fmt.Errorf("describing %s: %w", file.Path(), err)
			}
			to = appendField(to, 1, text)
		}
		for i := range file.Imports().Len() {
			pending = append(pending, file.Imports().Get(i).FileDescriptor)
		}
	}
	return to, nil
}

// describe returns the description of a file. Generated code has it in compressed form, for messages.
func describe(file protoreflect.FileDescriptor) ([]byte, error) {
	if file.Messages().Len() == 0 {
		return nil, errors.New("the file has no message")
	}
	first, err := protoregistry.GlobalTypes.FindMessageByName(file.Messages().Get(0).FullName())
	if err != nil {
		return nil, err
	}
	generated, ok := first.Zero().Interface().(interface{ Descriptor() ([]byte, []int) })
	if !ok {
		return nil, errors.New("the file is not in the program")
	}
	compressed, _ := generated.Descriptor()
	text, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

// eachField calls a function for the fields of a message that are texts or messages.
func eachField(m []byte, f func(field protowire.Number, value []byte)) error {
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(field, kind, m[n:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		if value, ok := protowire.ConsumeBytes(m[n:]); kind == protowire.BytesType && ok > 0 {
			f(field, value)
		}
		m = m[n+size:]
	}
	return nil
}

// appendField appends a field with a text or a message.
func appendField(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}
