// HTTP requests to the destinations that the operator grants, by the bindings of wasi:http. The package net/http has no network here.

package export_toolhost_plugin_tools

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	handler "wit_component/wasi_http_outgoing_handler"
	wasi "wit_component/wasi_http_types"
	streams "wit_component/wasi_io_streams"

	types "go.bytecodealliance.org/pkg/wit/types"
)

// The most bytes that the host takes at once, that are read at once, and that a response may have.
const (
	piece       = 4096
	read        = 64 << 10
	maxResponse = 4 << 20
)

// A request.
type request struct {
	// The method, in capital letters.
	method string
	// http:// or https://, a host, and what follows it.
	url     string
	headers map[string]string
	// The body; empty: none.
	body []byte
	// The longest time to connect, and the longest time without any byte; 0: as long as the call may take.
	timeout time.Duration
}

// A response.
type response struct {
	status int
	// The values by their names in small letters.
	headers map[string]string
	body    []byte
}

// send sends a request, and reads the whole response. A response of any status is one.
func send(sent request) (response, error) {
	outgoing, err := prepare(sent)
	if err != nil {
		return response{}, err
	}
	body := outgoing.Body().Ok()
	options := wasi.MakeRequestOptions()
	if sent.timeout > 0 {
		nanoseconds := types.Some(uint64(sent.timeout))
		options.SetConnectTimeout(nanoseconds)
		options.SetFirstByteTimeout(nanoseconds)
		options.SetBetweenBytesTimeout(nanoseconds)
	}
	handled := handler.Handle(outgoing, types.Some(options))
	if handled.IsErr() {
		return response{}, refusedRequest(handled.Err())
	}
	writeBody(body, sent.body)
	future := handled.Ok()
	ready := future.Subscribe()
	ready.Block()
	ready.Drop()
	// The outer result is there because nothing took the value before.
	got := future.Get().Some().Ok()
	if got.IsErr() {
		return response{}, refusedRequest(got.Err())
	}
	incoming := got.Ok()
	headers := map[string]string{}
	for _, header := range incoming.Headers().Entries() {
		name, value := strings.ToLower(header.F0), string(header.F1)
		if before, ok := headers[name]; ok {
			value = before + ", " + value
		}
		headers[name] = value
	}
	content, err := readBody(incoming)
	return response{int(incoming.Status()), headers, content}, err
}

// prepare makes the request without its body.
func prepare(sent request) (*wasi.OutgoingRequest, error) {
	target, err := url.Parse(sent.url)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		return nil, fmt.Errorf("%q does not begin with http:// or https:// and a host", sent.url)
	}
	fields := wasi.MakeFields()
	for name, value := range sent.headers {
		if fields.Append(strings.ToLower(name), []byte(value)).IsErr() {
			return nil, fmt.Errorf("the header %s cannot be sent", name)
		}
	}
	scheme := wasi.MakeSchemeHttp()
	if target.Scheme == "https" {
		scheme = wasi.MakeSchemeHttps()
	}
	outgoing := wasi.MakeOutgoingRequest(fields)
	if outgoing.SetMethod(wasi.MakeMethodOther(sent.method)).IsErr() ||
		outgoing.SetScheme(types.Some(scheme)).IsErr() ||
		outgoing.SetAuthority(types.Some(target.Host)).IsErr() ||
		outgoing.SetPathWithQuery(types.Some(target.RequestURI())).IsErr() {
		return nil, errors.New("the request is not valid: look at its method and its URL")
	}
	return outgoing, nil
}

// writeBody writes the body. If the request fails meanwhile, the response has the reason.
func writeBody(body *wasi.OutgoingBody, content []byte) {
	if len(content) > 0 {
		stream := body.Write().Ok()
		for len(content) > 0 {
			part := content[:min(len(content), piece)]
			if stream.BlockingWriteAndFlush(part).IsErr() {
				break
			}
			content = content[len(part):]
		}
		stream.Drop()
	}
	wasi.OutgoingBodyFinish(body, types.None[*wasi.Fields]())
}

func readBody(incoming *wasi.IncomingResponse) ([]byte, error) {
	body := incoming.Consume().Ok()
	stream := body.Stream().Ok()
	var content []byte
	for {
		part := stream.BlockingRead(read)
		if part.IsErr() {
			if part.Err().Tag() == streams.StreamErrorClosed {
				return content, nil
			}
			return nil, errors.New("the connection broke before the end of the response")
		}
		content = append(content, part.Ok()...)
		if len(content) > maxResponse {
			return nil, fmt.Errorf("the response has more than %d bytes", maxResponse)
		}
	}
}

// refusedRequest makes an error of the reason why there is no response.
func refusedRequest(err wasi.ErrorCode) error {
	switch err.Tag() {
	case wasi.ErrorCodeHttpRequestDenied:
		return denied("the plugin was not granted requests to this destination")
	case wasi.ErrorCodeDnsTimeout, wasi.ErrorCodeDnsError:
		return unavailable("the name of the server cannot be resolved")
	case wasi.ErrorCodeConnectionRefused:
		return unavailable("the server refuses the connection")
	case wasi.ErrorCodeConnectionTimeout, wasi.ErrorCodeConnectionReadTimeout,
		wasi.ErrorCodeConnectionWriteTimeout, wasi.ErrorCodeHttpResponseTimeout:
		return unavailable("the server does not answer in time")
	case wasi.ErrorCodeTlsProtocolError, wasi.ErrorCodeTlsCertificateError, wasi.ErrorCodeTlsAlertReceived:
		return unavailable("no secure connection to the server can be made")
	default:
		// The numbers are the places in the variant error-code of wasi:http.
		return fmt.Errorf("the request failed with error %d of wasi:http", err.Tag())
	}
}
