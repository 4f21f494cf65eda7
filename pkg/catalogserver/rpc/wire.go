package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields are a message of a caller, taken apart: the last value of each field that is text
// or bytes. Fields of other kinds are read over.
type Fields map[protowire.Number]string

// ParseFields takes a message apart. What is no message of protobuf is an error
// with InvalidArgument.
func ParseFields(message []byte) (Fields, error) {
	fields := Fields{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, Errorf(InvalidArgument, "reading the message: %w", protowire.ParseError(n))
		}
		if !number.IsValid() {
			return nil, Errorf(InvalidArgument, "reading the message: there is no field %d", number)
		}
		message = message[n:]
		if kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return nil, Errorf(InvalidArgument, "reading the message: %w", protowire.ParseError(n))
			}
			fields[number], message = string(value), message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, Errorf(InvalidArgument, "reading the message: %w", protowire.ParseError(n))
		}
		message = message[n:]
	}
	return fields, nil
}

// AppendText adds a field of text to a message; proto3 leaves empty ones out.
func AppendText(message []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return message
	}
	return protowire.AppendString(protowire.AppendTag(message, field, protowire.BytesType), text)
}

// AppendMessage adds a field that is a message, or an element of one that is
// repeated, empty or not.
func AppendMessage(message []byte, field protowire.Number, part []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(message, field, protowire.BytesType), part)
}
