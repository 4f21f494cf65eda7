package catalogserver

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalogserver/api"
)

// maxRequest is the maximum size of a message from a client, in bytes.
const maxRequest = 1 << 20

// Registry serves a catalog over gRPC as `opm serve` does, which the CatalogSources of OLM classic
// connect to: the services api.Registry and api.ExperimentalRegistry, grpc.health.v1.Health, and
// reflection in both of its versions. Results are sorted where opm's order is random, and the code for
// something that does not exist is NotFound where opm's is Unknown.
//
// GetBundle and similar methods return the ClusterServiceVersion. ListBundles leaves it and the other
// objects out, as OLM expects, unless the bundle has no image. If the catalog only has an excerpt of it
// (olm.csv.metadata), a ClusterServiceVersion is made from that, which is enough to show the operator.
//
// The error lists everything that prevents serving the catalog, such as a channel with two heads.
func Registry(c *catalog.Catalog) (http.Handler, error) {
	x, err := newIndex(c)
	if err != nil {
		return nil, err
	}
	r := &registry{index: x}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.StreamInterceptor(endWithServer))
	api.RegisterRegistryServer(server, r)
	api.RegisterExperimentalRegistryServer(server, r)
	services := health.NewServer() // "" is SERVING
	for name := range server.GetServiceInfo() {
		services.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(server, services)
	reflection.Register(server)
	return grpcHandler{server}, nil
}

// grpcHandler serves gRPC calls over net/http's HTTP/2. grpc closes a stream when the context of its
// request ends, and then cannot send a status. So the context that it gets does not end when the server
// stops; endWithServer ends the call instead.
type grpcHandler struct{ server *grpc.Server }

// requestKey is the key of the request's own context.
type requestKey struct{}

// ServeHTTP implements http.Handler.
func (h grpcHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(r.Context(), func() { //nolint:contextcheck // it watches the request's own context
		if !errors.Is(context.Cause(r.Context()), errStopping) {
			cancel()
		}
	})()
	h.server.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestKey{}, r.Context())))
}

// endWithServer ends streams when the server stops, with the code Unavailable.
func endWithServer(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	request, ok := stream.Context().Value(requestKey{}).(context.Context)
	if !ok {
		return handler(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(request, cancel)()
	err := handler(srv, stoppingStream{stream, ctx})
	if err != nil && errors.Is(context.Cause(request), errStopping) {
		return status.Error(codes.Unavailable, errStopping.Error())
	}
	return err
}

// A stoppingStream is a stream whose context ends when the server stops.
type stoppingStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s stoppingStream) Context() context.Context { return s.ctx }

// A registry implements the services for one catalog.
type registry struct {
	api.UnimplementedRegistryServer
	api.UnimplementedExperimentalRegistryServer
	*index
}

// pkg returns a package.
func (r *registry) pkg(name string) (*indexedPackage, error) {
	if pkg, ok := r.byName[name]; ok {
		return pkg, nil
	}
	return nil, status.Errorf(codes.NotFound, "package %q not found", name)
}

// channel returns a channel.
func (r *registry) channel(pkgName, name string) (*indexedChannel, error) {
	pkg, err := r.pkg(pkgName)
	if err != nil {
		return nil, err
	}
	if channel, ok := pkg.channels[name]; ok {
		return channel, nil
	}
	return nil, status.Errorf(codes.NotFound, "package %q, channel %q not found", pkgName, name)
}

// single returns a bundle with everything but its edges, as opm does for single bundles.
func single(e channelEntry) (*api.Bundle, error) {
	m, err := bundleMessage(e, extent{manifests: true})
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return m, nil
}

// ListPackages implements api.RegistryServer.
func (r *registry) ListPackages(_ *api.ListPackageRequest, stream grpc.ServerStreamingServer[api.PackageName]) error {
	for _, p := range r.packages {
		if err := stream.Send(&api.PackageName{Name: p.Name}); err != nil {
			return err
		}
	}
	return nil
}

// GetPackage implements api.RegistryServer.
func (r *registry) GetPackage(_ context.Context, req *api.GetPackageRequest) (*api.Package, error) {
	pkg, err := r.pkg(req.GetName())
	if err != nil {
		return nil, err
	}
	m := &api.Package{
		Name: pkg.Name, DefaultChannelName: pkg.DefaultChannel,
		Deprecation: pkg.deprecation(catalog.SchemaPackage, ""),
	}
	for _, c := range pkg.sorted {
		m.Channels = append(m.Channels, &api.Channel{
			Name: c.Name, CsvName: c.head,
			Deprecation: pkg.deprecation(catalog.SchemaChannel, c.Name),
		})
	}
	return m, nil
}

// GetBundle implements api.RegistryServer.
func (r *registry) GetBundle(_ context.Context, req *api.GetBundleRequest) (*api.Bundle, error) {
	channel, err := r.channel(req.GetPkgName(), req.GetChannelName())
	if err != nil {
		return nil, err
	}
	e, ok := channel.entries[req.GetCsvName()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "package %q, channel %q, bundle %q not found", req.GetPkgName(), req.GetChannelName(), req.GetCsvName())
	}
	return single(e)
}

// GetBundleForChannel implements api.RegistryServer: it returns the head of a channel.
func (r *registry) GetBundleForChannel(_ context.Context, req *api.GetBundleInChannelRequest) (*api.Bundle, error) {
	channel, err := r.channel(req.GetPkgName(), req.GetChannelName())
	if err != nil {
		return nil, err
	}
	return single(channel.entries[channel.head])
}

// GetBundleThatReplaces implements api.RegistryServer. It prefers the bundle that replaces the other
// one to those that skip it.
func (r *registry) GetBundleThatReplaces(_ context.Context, req *api.GetReplacementRequest) (*api.Bundle, error) {
	name := req.GetCsvName()
	channel, err := r.channel(req.GetPkgName(), req.GetChannelName())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(channel.sorted, func(e channelEntry) bool { return e.entry.Replaces == name })
	if i < 0 {
		i = slices.IndexFunc(channel.sorted, func(e channelEntry) bool { return e.replaces(name) })
	}
	if i < 0 || name == "" {
		return nil, status.Errorf(codes.NotFound, "no entry found for package %q, channel %q that replaces %q", req.GetPkgName(), req.GetChannelName(), name)
	}
	return single(channel.sorted[i])
}

// ListBundles implements api.RegistryServer: it sends every entry of every channel, which is what OLM
// resolves from.
func (r *registry) ListBundles(_ *api.ListBundlesRequest, stream grpc.ServerStreamingServer[api.Bundle]) error {
	for _, p := range r.packages {
		for _, c := range p.sorted {
			for _, e := range c.sorted {
				m, err := bundleMessage(e, extent{edges: true, manifests: e.bundle.Image == ""})
				if err != nil {
					return status.Error(codes.Internal, err.Error())
				}
				if err := stream.Send(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ExperimentalListPackageCustomSchemas implements api.ExperimentalRegistryServer: it sends the objects
// of a schema that OLM does not know, those of one package or those without package. As in opm,
// callers who do not acknowledge that the service is experimental get nothing.
func (r *registry) ExperimentalListPackageCustomSchemas(req *api.ExperimentalListPackageCustomSchemasRequest, stream grpc.ServerStreamingServer[structpb.Struct]) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	if !slices.Contains(md.Get("x-acknowledge-experimental"), "true") {
		return nil
	}
	if req.GetSchema() == "" {
		return status.Error(codes.InvalidArgument, "schema is required")
	}
	objects := r.others
	if req.GetPackageName() != "" {
		objects = nil
		if pkg, ok := r.byName[req.GetPackageName()]; ok {
			objects = pkg.Others
		}
	}
	for _, o := range objects {
		if o.Schema != req.GetSchema() {
			continue
		}
		m := &structpb.Struct{}
		if err := cmp.Or(m.UnmarshalJSON(o.Raw), stream.Context().Err()); err != nil {
			return status.Errorf(codes.Internal, "reading %s %s: %v", o.Schema, o.Name, err)
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}
