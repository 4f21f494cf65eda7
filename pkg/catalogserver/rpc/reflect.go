package rpc

import (
	"context"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The requests of the reflection service, by field (ServerReflectionRequest).
const (
	askFileByName       = 3
	askFileBySymbol     = 4
	askFileByExtension  = 5
	askExtensionNumbers = 6
	askServices         = 7
)

// The answers, by field (ServerReflectionResponse).
const (
	answerHost     = 1
	answerRequest  = 2
	answerFiles    = 4
	answerServices = 6
	answerError    = 7
)

// reflectionFile describes the service of [Reflect], which has one form under
// two names.
func reflectionFile(version string) File {
	pkg := "grpc.reflection." + version
	return File{
		Name: "grpc/reflection/" + version + "/reflection.proto", Package: pkg,
		Messages: []Message{
			{Name: "ServerReflectionRequest", Fields: []Field{
				{Name: "host", Number: 1},
				{Name: "file_by_filename", Number: 3, OneOf: "message_request"},
				{Name: "file_containing_symbol", Number: 4, OneOf: "message_request"},
				{Name: "file_containing_extension", Number: 5, OneOf: "message_request", Type: pkg + ".ExtensionRequest"},
				{Name: "all_extension_numbers_of_type", Number: 6, OneOf: "message_request"},
				{Name: "list_services", Number: 7, OneOf: "message_request"},
			}},
			{Name: "ExtensionRequest", Fields: []Field{
				{Name: "containing_type", Number: 1},
				{Name: "extension_number", Number: 2, Type: "int32"},
			}},
			{Name: "ServerReflectionResponse", Fields: []Field{
				{Name: "valid_host", Number: 1},
				{Name: "original_request", Number: 2, Type: pkg + ".ServerReflectionRequest"},
				{Name: "file_descriptor_response", Number: 4, OneOf: "message_response", Type: pkg + ".FileDescriptorResponse"},
				{Name: "all_extension_numbers_response", Number: 5, OneOf: "message_response", Type: pkg + ".ExtensionNumberResponse"},
				{Name: "list_services_response", Number: 6, OneOf: "message_response", Type: pkg + ".ListServiceResponse"},
				{Name: "error_response", Number: 7, OneOf: "message_response", Type: pkg + ".ErrorResponse"},
			}},
			{Name: "FileDescriptorResponse", Fields: []Field{{Name: "file_descriptor_proto", Number: 1, Type: "bytes", Repeated: true}}},
			{Name: "ExtensionNumberResponse", Fields: []Field{
				{Name: "base_type_name", Number: 1},
				{Name: "extension_number", Number: 2, Type: "int32", Repeated: true},
			}},
			{Name: "ListServiceResponse", Fields: []Field{{Name: "service", Number: 1, Type: pkg + ".ServiceResponse", Repeated: true}}},
			{Name: "ServiceResponse", Fields: []Field{{Name: "name", Number: 1}}},
			{Name: "ErrorResponse", Fields: []Field{
				{Name: "error_code", Number: 1, Type: "int32"},
				{Name: "error_message", Number: 2},
			}},
		},
		Services: []Service{{Name: "ServerReflection", Calls: []Signature{{
			Name: "ServerReflectionInfo", Takes: pkg + ".ServerReflectionRequest", Gives: pkg + ".ServerReflectionResponse",
			ManyIn: true, ManyOut: true,
		}}}},
	}
}

// A reflection answers what clients ask about services.
type reflection struct {
	files    *protoregistry.Files
	services []string
}

// Reflect is the reflection service, by which clients like grpcurl learn what
// can be called, in both of its versions. It knows the files that describe the
// services, itself, and the imported ones, which are given as they are. The error
// is a file that does not hold together.
func Reflect(files []File, imported ...protoreflect.FileDescriptor) (Methods, error) {
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range imported {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	r := &reflection{}
	methods := Methods{}
	for _, f := range slices.Concat(files, []File{reflectionFile("v1"), reflectionFile("v1alpha")}) {
		set.File = append(set.File, f.descriptor())
		for _, s := range f.Services {
			r.services = append(r.services, f.Package+"."+s.Name)
		}
	}
	slices.Sort(r.services)
	for _, version := range []string{"v1", "v1alpha"} {
		methods["/grpc.reflection."+version+".ServerReflection/ServerReflectionInfo"] = r.serve
	}
	var err error
	if r.files, err = protodesc.NewFiles(set); err != nil {
		return nil, fmt.Errorf("describing the services: %w", err)
	}
	return methods, nil
}

// serve answers requests until the caller has no more.
func (r *reflection) serve(_ context.Context, call *Call) error {
	for {
		request, err := call.Receive()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		response, err := r.answer(request)
		if err != nil {
			return err
		}
		if err := call.Send(response); err != nil {
			return err
		}
	}
}

// answer answers one request. What is not found is an answer, too.
func (r *reflection) answer(request []byte) ([]byte, error) {
	fields, err := ParseFields(request)
	if err != nil {
		return nil, err
	}
	response := AppendMessage(AppendText(nil, answerHost, fields[1]), answerRequest, request)
	failed := func(code Code, message string) []byte {
		part := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(code)) //nolint:gosec // codes are small
		return AppendMessage(response, answerError, AppendText(part, 2, message))
	}

	if name, ok := fields[askFileByName]; ok {
		if file, err := r.files.FindFileByPath(name); err == nil {
			return r.file(response, file)
		}
		return failed(NotFound, "there is no file "+name), nil
	}
	if name, ok := fields[askFileBySymbol]; ok {
		if found, err := r.files.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			return r.file(response, found.ParentFile())
		}
		return failed(NotFound, "there is no symbol "+name), nil
	}
	if _, ok := fields[askServices]; ok {
		var list []byte
		for _, name := range r.services {
			list = AppendMessage(list, 1, AppendText(nil, 1, name))
		}
		return AppendMessage(response, answerServices, list), nil
	}
	_, extension := fields[askFileByExtension]
	if _, numbers := fields[askExtensionNumbers]; extension || numbers {
		return failed(NotFound, "nothing here has extensions"), nil
	}
	return failed(InvalidArgument, "the request asks for nothing"), nil
}

// file answers with a file and everything that it imports.
func (r *reflection) file(response []byte, file protoreflect.FileDescriptor) ([]byte, error) {
	var list []byte
	sent := map[string]bool{}
	for queue := []protoreflect.FileDescriptor{file}; len(queue) > 0; queue = queue[1:] {
		f := queue[0]
		if sent[f.Path()] {
			continue
		}
		sent[f.Path()] = true
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(f))
		if err != nil {
			return nil, Errorf(Internal, "describing %s: %w", f.Path(), err)
		}
		list = AppendMessage(list, 1, text)
		for i := range f.Imports().Len() {
			queue = append(queue, f.Imports().Get(i).FileDescriptor)
		}
	}
	return AppendMessage(response, answerFiles, list), nil
}
