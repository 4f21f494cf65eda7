package rpc_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// FuzzParseFields holds that what is taken apart is what protobuf takes for a
// message, and that fields of text come out as they went in.
func FuzzParseFields(f *testing.F) {
	f.Add([]byte("\x08\x96\x01\x12\x03abc"), "name")
	f.Add([]byte("\x0b\x12\x01a\x0c"), "")
	f.Add([]byte("\x12\xff\xff\xff\xff\xff"), "")
	f.Fuzz(func(t *testing.T, message []byte, text string) {
		_, err := rpc.ParseFields(message)
		if want := proto.Unmarshal(message, &emptypb.Empty{}); (err == nil) != (want == nil) {
			t.Fatalf("got %v, and protobuf %v", err, want)
		}
		if err != nil {
			return
		}
		fields, err := rpc.ParseFields(rpc.AppendMessage(rpc.AppendText(message, 17, text), 18, message))
		if err != nil {
			t.Fatal(err)
		}
		if text != "" && fields[17] != text || fields[18] != string(message) {
			t.Errorf("got %q and %q", fields[17], fields[18])
		}
	})
}
