package rpc

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A File describes messages and services as a .proto file of proto3 does, so
// that clients which ask for it can make calls without having the file.
type File struct {
	Name     string // such as grpc/health/v1/health.proto
	Package  string
	Imports  []string
	Messages []Message
	Services []Service
}

// A Message describes a type of message.
type Message struct {
	Name   string
	Fields []Field
	// Enum is an enumeration that belongs to the message, if it has a name. Its
	// values are numbered from 0.
	Enum Enum
}

// A Field is a member of a message.
type Field struct {
	Name   string
	Number int32
	// Type is string where it is empty; else int32, bytes, "enum NAME", or the
	// full name of a message.
	Type     string
	Repeated bool
	OneOf    string // the group of which one field is set, "" for none
}

// An Enum is an enumeration.
type Enum struct {
	Name   string
	Values []string
}

// A Service describes a service.
type Service struct {
	Name  string
	Calls []Signature
}

// A Signature describes a method: full names of the messages that it takes and
// gives.
type Signature struct {
	Name, Takes, Gives string
	// ManyIn and ManyOut say that the caller, and the server, send any number.
	ManyIn, ManyOut bool
}

// descriptor is the file in the form that clients are given.
func (f File) descriptor() *descriptorpb.FileDescriptorProto {
	d := &descriptorpb.FileDescriptorProto{
		Name: &f.Name, Package: &f.Package, Dependency: f.Imports, Syntax: proto.String("proto3"),
	}
	for _, m := range f.Messages {
		d.MessageType = append(d.MessageType, m.descriptor())
	}
	for _, s := range f.Services {
		service := &descriptorpb.ServiceDescriptorProto{Name: &s.Name}
		for _, c := range s.Calls {
			service.Method = append(service.Method, &descriptorpb.MethodDescriptorProto{
				Name: &c.Name, InputType: proto.String("." + c.Takes), OutputType: proto.String("." + c.Gives),
				ClientStreaming: &c.ManyIn, ServerStreaming: &c.ManyOut,
			})
		}
		d.Service = append(d.Service, service)
	}
	return d
}

func (m Message) descriptor() *descriptorpb.DescriptorProto {
	d := &descriptorpb.DescriptorProto{Name: &m.Name}
	groups := map[string]int32{}
	for _, f := range m.Fields {
		field := f.descriptor()
		if f.OneOf != "" {
			if _, ok := groups[f.OneOf]; !ok {
				groups[f.OneOf] = int32(len(d.OneofDecl)) //nolint:gosec // a handful
				d.OneofDecl = append(d.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: &f.OneOf})
			}
			field.OneofIndex = proto.Int32(groups[f.OneOf])
		}
		d.Field = append(d.Field, field)
	}
	if m.Enum.Name != "" {
		enum := &descriptorpb.EnumDescriptorProto{Name: &m.Enum.Name}
		for i, value := range m.Enum.Values {
			enum.Value = append(enum.Value, &descriptorpb.EnumValueDescriptorProto{Name: &value, Number: proto.Int32(int32(i))})
		}
		d.EnumType = append(d.EnumType, enum)
	}
	return d
}

func (f Field) descriptor() *descriptorpb.FieldDescriptorProto {
	label, kind := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_TYPE_STRING
	if f.Repeated {
		label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	}
	d := &descriptorpb.FieldDescriptorProto{Name: &f.Name, Number: &f.Number, Label: &label}
	switch name, isEnum := strings.CutPrefix(f.Type, "enum "); {
	case f.Type == "":
	case f.Type == "int32":
		kind = descriptorpb.FieldDescriptorProto_TYPE_INT32
	case f.Type == "bytes":
		kind = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	case isEnum:
		kind, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_ENUM, proto.String("."+name)
	default:
		kind, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, proto.String("."+f.Type)
	}
	d.Type = &kind
	return d
}
