#include "push.h"

px_registry *px_registry_new(const uint64_t secret[2])
{
    px_registry *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->node_free = r->slot_free = r->clause_free = r->template_free = -1;
    r->pool_free = -1;
    r->version = 1;
    r->number_ids.secret = r->lists.secret = secret[0];
    r->same_mask = 63;
    r->same = calloc(r->same_mask + 1, sizeof *r->same);
    r->nodes = calloc(16, sizeof *r->nodes);
    if (r->same == NULL || r->nodes == NULL || px_strings_init(&r->strings, secret) != PX_OK) {
        px_registry_free(r);
        return NULL;
    }
    r->node_room = 16;
    r->node_count = 1;
    r->nodes[0] = (px_node){-1, PX_ANY, -1, 1, 0, 0};
    return r;
}

void px_registry_free(px_registry *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->template_count; i++) {
        free(r->templates[i].words);
        free(r->templates[i].cells);
        free(r->templates[i].owner);
        free(r->templates[i].place);
    }
    for (size_t i = 0; i < r->slot_count; i++) {
        px_list_free(&r->simple[i]);
        if (r->values[i] == NULL)
            continue;
        px_list_free(&r->values[i]->general);
        for (int k = 0; k < 4; k++)
            px_sorted_free(&r->values[i]->ranges[k]);
        for (int k = 0; k < 2; k++)
            px_parts_free(&r->values[i]->parts[k], &r->strings);
        free(r->values[i]);
    }
    for (size_t i = 0; i < r->pool_count; i++)
        px_list_free(&r->pool[i]);
    px_crowds_free(r);
    px_strings_free(&r->strings);
    px_map_free(&r->number_ids);
    px_map_free(&r->edges);
    px_map_free(&r->lists);
    free(r->numbers);
    free(r->nodes);
    free(r->slot_node);
    free(r->slot_uses);
    free(r->slot_heavy);
    free(r->slot_flags);
    free(r->simple);
    free(r->values);
    free(r->pool);
    free(r->clauses);
    free(r->templates);
    free(r->owners);
    free(r->same);
    free(r);
}
