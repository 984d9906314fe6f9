#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Corrects the answers that nua itself gives, wrongly, to some requests outside a dialog. */
#include "outside.h"
#include "streams.h"
#include <sofia-sip/nta.h>
#include <sofia-sip/nua_tag.h>
#include <sofia-sip/sip_status.h>
#include <sofia-sip/sip_tag.h>
#include <string.h>

static __thread nua_t *answering;

void outside_start(nua_t *nua) { answering = nua; }

/* nta passes every request to this function of nua. nua would answer a REFER outside a dialog with 202, and send a
 * NOTIFY to the address in its Contact, before we are asked: traffic to a host that may be uninvolved. Here such a
 * REFER is declined (603, RFC 3515 §2.4.2). INFO has no meaning outside a dialog (481, RFC 6086 §4.2.2); nua would
 * answer it with 200 and keep a handle that is never freed. */
int nua_stack_process_request(nua_handle_t *handle, nta_leg_t *leg, nta_incoming_t *request, sip_t const *sip) {
    static _Atomic(void *) known;
    int (*real)(nua_handle_t *, nta_leg_t *, nta_incoming_t *, sip_t const *);
    *(void **)&real = behind(&known, "nua_stack_process_request");
    if (!real) return 500;
    sip_method_t method = sip->sip_request->rq_method;
    int is_outside = answering && handle == nua_default(answering) && method != sip_method_ack;
    /* A request line that could not be read (RFC 4475 §3.1.2.13) is refused before the dialog of the request is looked
     * up. */
    char const *host = sip->sip_request->rq_url->url_host;
    if (is_outside && host && !strcmp(host, UNREADABLE_HOST)) {
        nta_incoming_tag(request, NULL);
        nta_incoming_treply(request, SIP_400_BAD_REQUEST, TAG_END());
        return 400;
    }
    if (!is_outside || (method != sip_method_refer && method != sip_method_info))
        return real(handle, leg, request, sip);
    int is_stray = method == sip_method_info || sip->sip_to->a_tag; /* a tag: of an unknown dialog */
    nta_incoming_tag(request, NULL);
    if (is_stray) nta_incoming_treply(request, SIP_481_NO_TRANSACTION, TAG_END());
    else nta_incoming_treply(request, SIP_603_DECLINE, TAG_END());
    return is_stray ? 481 : 603;
}
