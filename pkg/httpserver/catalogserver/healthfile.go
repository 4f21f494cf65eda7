package catalogserver

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// healthFile is the file that describes the health service.
const healthFile = "grpc/health/v1/health.proto"

// healthSymbols are the names in that file.
func healthSymbols() []string {
	const request, response = "grpc.health.v1.HealthCheckRequest", "grpc.health.v1.HealthCheckResponse"
	names := []string{
		healthService, healthService + ".Check", healthService + ".Watch",
		request, request + ".service", response, response + ".status", response + ".ServingStatus",
	}
	for _, status := range servingStatus() {
		names = append(names, response+"."+status)
	}
	return names
}

// servingStatus are the names of the values of the enum.
func servingStatus() []string {
	return []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
}

// describeHealth returns the description of the file: a FileDescriptorProto, whose numbers are in
// google/protobuf/descriptor.proto.
func describeHealth() []byte {
	const (
		pkg          = "grpc.health.v1"
		typeEnum     = 14
		typeString   = 9
		fileName     = 1
		filePackage  = 2
		fileMessage  = 4
		fileService  = 6
		fileSyntax   = 12
		messageField = 2
		messageEnum  = 4
	)
	requestType, responseType := "."+pkg+".HealthCheckRequest", "."+pkg+".HealthCheckResponse"
	request := appendField(described("HealthCheckRequest"), messageField, describedField("service", typeString, ""))
	response := appendField(described("HealthCheckResponse"), messageField, describedField("status", typeEnum, responseType+".ServingStatus"))
	enum := described("ServingStatus")
	for i, status := range servingStatus() {
		enum = appendField(enum, 2, appendNumber(described(status), 2, uint64(i)))
	}
	response = appendField(response, messageEnum, enum)
	method := func(name string) []byte {
		return appendField(appendField(described(name), 2, []byte(requestType)), 3, []byte(responseType))
	}
	const serverStreams = 6
	service := appendField(described("Health"), 2, method("Check"))
	service = appendField(service, 2, appendNumber(method("Watch"), serverStreams, 1))
	file := appendField(nil, fileName, []byte(healthFile))
	file = appendField(file, filePackage, []byte(pkg))
	file = appendField(appendField(file, fileMessage, request), fileMessage, response)
	file = appendField(file, fileService, service)
	return appendField(file, fileSyntax, []byte("proto3"))
}

// described returns the beginning of the description of something, which is its name.
func described(name string) []byte { return appendField(nil, 1, []byte(name)) }

// describedField returns the description of a field with the number 1.
func describedField(name string, typ uint64, typeName string) []byte {
	const number, label, kind, named, jsonName, optional = 3, 4, 5, 6, 10, 1
	field := appendNumber(appendNumber(appendNumber(described(name), number, 1), label, optional), kind, typ)
	if typeName != "" {
		field = appendField(field, named, []byte(typeName))
	}
	return appendField(field, jsonName, []byte(name))
}

// isHealth reports whether a file, or a name, belongs to the health service.
func isHealth(name string) bool {
	return name == healthFile || slices.Contains(healthSymbols(), name)
}

// appendNumber appends a field with a number.
func appendNumber(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}
